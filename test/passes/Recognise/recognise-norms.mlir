// LayerNorm and RMSNorm from their primitives, and what only looks like them.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// x - mean, over the root of the mean of its square; then scale and bias.
// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<1x6x8xf32, #nn.extent<0>>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = nn.layer_norm(%arg0 scale %arg1 bias %arg2) {axis = 2 : i64, eps = 9.999{{[0-9]*}}E-6 : f64}
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <div> (%1, %2) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %4 = nn.elementwise <sub> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%4, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %6 = nn.reduce <sum> (%5) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %7 = nn.reshape %6 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %9 = nn.elementwise <div> (%7, %8) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %10 = nn.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %11 = nn.elementwise <add> (%9, %10) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %12 = nn.elementwise <sqrt> (%11) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %13 = nn.elementwise <div> (%4, %12) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %14 = nn.elementwise <mul> (%13, %g) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %15 = nn.elementwise <add> (%b, %14) : (tensor<8xf32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %15 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Pow with exponent 2, a mean as a product, a reciprocal root.
// CHECK-LABEL: func.func @layer_norm_rsqrt
func.func @layer_norm_rsqrt(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.layer_norm(%arg0) {axis = 2 : i64
  // CHECK-NEXT: return
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <div> (%1, %2) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %4 = nn.elementwise <sub> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <pow> (%4, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.reduce <sum> (%6) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %8 = nn.reshape %7 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %9 = nn.constant {value = dense<0.125> : tensor<f32>} : tensor<f32>
  %10 = nn.elementwise <mul> (%9, %8) : (tensor<f32>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %11 = nn.constant {value = dense<1.0e-6> : tensor<f32>} : tensor<f32>
  %12 = nn.elementwise <add> (%11, %10) : (tensor<f32>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %13 = nn.elementwise <rsqrt> (%12) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %14 = nn.elementwise <mul> (%13, %4) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %14 : tensor<1x6x8xf32, #nn.extent<0>>
}

// x times the reciprocal root of the mean of its square.
// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<1x6x8xf32, #nn.extent<0>>, %g: tensor<8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = nn.rms_norm(%arg0 scale %arg1) {axis = 2 : i64
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0e-6> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <sqrt> (%6) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.elementwise <reciprocal> (%7) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %9 = nn.elementwise <mul> (%x, %8) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %10 = nn.elementwise <mul> (%g, %9) : (tensor<8xf32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %10 : tensor<1x6x8xf32, #nn.extent<0>>
}

// The root under 1, the scale in front.
// CHECK-LABEL: func.func @rms_norm_quotient
func.func @rms_norm_quotient(%x: tensor<1x6x8xf32, #nn.extent<0>>, %g: tensor<8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = nn.rms_norm(%arg0 scale %arg1) {axis = 2 : i64
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0e-6> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <sqrt> (%6) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %9 = nn.elementwise <div> (%8, %7) : (tensor<f32>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %10 = nn.elementwise <mul> (%x, %9) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %11 = nn.elementwise <mul> (%g, %10) : (tensor<8xf32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %11 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: the unbiased variance divides by one less.
// CHECK-LABEL: func.func @other_count
func.func @other_count(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: _norm
  // CHECK: return
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <div> (%1, %2) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %4 = nn.elementwise <sub> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%4, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %6 = nn.reduce <sum> (%5) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %7 = nn.reshape %6 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.constant {value = dense<7.0> : tensor<f32>} : tensor<f32>
  %9 = nn.elementwise <div> (%7, %8) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %10 = nn.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %11 = nn.elementwise <add> (%9, %10) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %12 = nn.elementwise <sqrt> (%11) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %13 = nn.elementwise <div> (%4, %12) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %13 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: the statistics of another value.
// CHECK-LABEL: func.func @other_numerator
func.func @other_numerator(%x: tensor<1x6x8xf32, #nn.extent<0>>, %y: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: _norm
  // CHECK: return
  %0 = nn.elementwise <mul> (%y, %y) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <rsqrt> (%6) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.elementwise <mul> (%x, %7) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %8 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: a factor that differs from row to row is no scale; the norm alone is recognised.
// CHECK-LABEL: func.func @scale_of_a_sample
func.func @scale_of_a_sample(%x: tensor<1x6x8xf32, #nn.extent<0>>, %g: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.rms_norm(%arg0) {
  // CHECK-NEXT: nn.elementwise <mul>
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x6x1xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <rsqrt> (%6) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %8 = nn.elementwise <mul> (%x, %7) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %9 = nn.elementwise <mul> (%8, %g) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %9 : tensor<1x6x8xf32, #nn.extent<0>>
}

// The root mean square of every row, its samples moved to another axis.
// CHECK-LABEL: func.func @moved_batch
func.func @moved_batch(%x: tensor<1x1x8xf32, #nn.extent<0>>) -> tensor<1x1x8xf32, #nn.extent<0>> {
  // CHECK-NOT: nn.rms_norm
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x1x8xf32, #nn.extent<0>>, tensor<1x1x8xf32, #nn.extent<0>>) -> tensor<1x1x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x1x8xf32, #nn.extent<0>>) -> tensor<1x1xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x1xf32, #nn.extent<0>> -> tensor<1x1x1xf32, #nn.extent<1>>
  %3 = nn.constant {value = dense<8.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <div> (%2, %3) : (tensor<1x1x1xf32, #nn.extent<1>>, tensor<f32>) -> tensor<1x1x1xf32, #nn.extent<1>>
  %5 = nn.constant {value = dense<1.0e-5> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x1x1xf32, #nn.extent<1>>, tensor<f32>) -> tensor<1x1x1xf32, #nn.extent<1>>
  %7 = nn.elementwise <sqrt> (%6) : (tensor<1x1x1xf32, #nn.extent<1>>) -> tensor<1x1x1xf32, #nn.extent<1>>
  %8 = nn.elementwise <div> (%x, %7) : (tensor<1x1x8xf32, #nn.extent<0>>, tensor<1x1x1xf32, #nn.extent<1>>) -> tensor<1x1x8xf32, #nn.extent<0>>
  return %8 : tensor<1x1x8xf32, #nn.extent<0>>
}
