// GELU and SiLU, however their factors are grouped, and what only looks like them.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// (x * (1 + erf)) * 0.5.
// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]] = nn.elementwise <gelu> (%arg0)
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.constant {value = dense<1.41421354> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <div> (%x, %0) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <erf> (%1) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%2, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%x, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %6 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %7 = nn.elementwise <mul> (%5, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %7 : tensor<1x6x8xf32, #nn.extent<0>>
}

// (x * 0.5) * (1 + erf).
// CHECK-LABEL: func.func @gelu_half_first
func.func @gelu_half_first(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.elementwise <gelu> (%arg0)
  %0 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <mul> (%x, %0) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<0.707106769> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <mul> (%2, %x) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <erf> (%3) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <add> (%4, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <mul> (%1, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %7 : tensor<1x6x8xf32, #nn.extent<0>>
}

// The argument is itself a product.
// CHECK-LABEL: func.func @gelu_of_a_product
func.func @gelu_of_a_product(%a: tensor<1x6x8xf32, #nn.extent<0>>, %b: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[X:.*]] = nn.elementwise <mul> (%arg0, %arg1)
  // CHECK-NEXT: nn.elementwise <gelu> (%[[X]])
  %x = nn.elementwise <mul> (%a, %b) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %0 = nn.constant {value = dense<1.41421354> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <div> (%x, %0) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <erf> (%1) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%2, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%x, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %6 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %7 = nn.elementwise <mul> (%5, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %7 : tensor<1x6x8xf32, #nn.extent<0>>
}

// x^3 as a product.
// CHECK-LABEL: func.func @gelu_tanh
func.func @gelu_tanh(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.elementwise <gelu_tanh> (%arg0)
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%0, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<0.044715> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <mul> (%1, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <add> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <mul> (%4, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <tanh> (%6) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %9 = nn.elementwise <add> (%7, %8) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %10 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %11 = nn.elementwise <mul> (%x, %10) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %12 = nn.elementwise <mul> (%11, %9) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %12 : tensor<1x6x8xf32, #nn.extent<0>>
}

// x * (1 + 0.044715 x^2).
// CHECK-LABEL: func.func @gelu_tanh_factored
func.func @gelu_tanh_factored(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.elementwise <gelu_tanh> (%arg0)
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<0.044715> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <mul> (%0, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%3, %2) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <mul> (%x, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <mul> (%6, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.elementwise <tanh> (%7) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %9 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %10 = nn.elementwise <add> (%9, %8) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %11 = nn.elementwise <mul> (%x, %10) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %12 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %13 = nn.elementwise <mul> (%12, %11) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %13 : tensor<1x6x8xf32, #nn.extent<0>>
}

// As an export in bf16 rounds the constants.
// CHECK-LABEL: func.func @gelu_tanh_rounded
func.func @gelu_tanh_rounded(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.elementwise <gelu_tanh> (%arg0)
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<0.0446777344> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <mul> (%0, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%3, %2) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<0.796875> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <mul> (%x, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <mul> (%6, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.elementwise <tanh> (%7) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %9 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %10 = nn.elementwise <add> (%9, %8) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %11 = nn.elementwise <mul> (%x, %10) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %12 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %13 = nn.elementwise <mul> (%12, %11) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %13 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Other constants make another function.
// CHECK-LABEL: func.func @not_gelu_tanh
func.func @not_gelu_tanh(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: gelu
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<0.0447> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <mul> (%0, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%3, %2) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <mul> (%x, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <mul> (%6, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.elementwise <tanh> (%7) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %9 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %10 = nn.elementwise <add> (%9, %8) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %11 = nn.elementwise <mul> (%x, %10) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %12 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %13 = nn.elementwise <mul> (%12, %11) : (tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %13 : tensor<1x6x8xf32, #nn.extent<0>>
}

// SwiGLU.
// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<1x6x8xf32, #nn.extent<0>>, %up: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[S:.*]] = nn.elementwise <silu> (%arg0)
  // CHECK-NEXT: nn.elementwise <mul> (%[[S]], %arg1)
  %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%0, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <mul> (%1, %up) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %2 : tensor<1x6x8xf32, #nn.extent<0>>
}

// CHECK-LABEL: func.func @silu_quotient
func.func @silu_quotient(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.elementwise <silu> (%arg0)
  %0 = nn.elementwise <neg> (%x) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <exp> (%0) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <add> (%1, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <div> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %4 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: CLIP's x * sigmoid(1.702 x).
// CHECK-LABEL: func.func @quick_gelu
func.func @quick_gelu(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: silu
  // CHECK-NOT: gelu
  // CHECK: return
  %0 = nn.constant {value = dense<1.702> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <mul> (%x, %0) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <sigmoid> (%1) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <mul> (%x, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %3 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: erf(x / 1.5).
// CHECK-LABEL: func.func @other_constant
func.func @other_constant(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: gelu
  // CHECK: return
  %0 = nn.constant {value = dense<1.5> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <div> (%x, %0) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <erf> (%1) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %4 = nn.elementwise <add> (%2, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <mul> (%x, %4) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %6 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %7 = nn.elementwise <mul> (%5, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %7 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: another coefficient of the cube.
// CHECK-LABEL: func.func @other_cubic
func.func @other_cubic(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: gelu
  // CHECK: return
  %0 = nn.elementwise <mul> (%x, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%0, %x) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.constant {value = dense<0.05> : tensor<f32>} : tensor<f32>
  %3 = nn.elementwise <mul> (%1, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.elementwise <add> (%x, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.constant {value = dense<0.797884583> : tensor<f32>} : tensor<f32>
  %6 = nn.elementwise <mul> (%4, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %7 = nn.elementwise <tanh> (%6) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %9 = nn.elementwise <add> (%7, %8) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %10 = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %11 = nn.elementwise <mul> (%x, %10) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %12 = nn.elementwise <mul> (%11, %9) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %12 : tensor<1x6x8xf32, #nn.extent<0>>
}

// x / (1 + |x|): its own terms cancel from |x| = 1 on.
// CHECK-LABEL: func.func @softsign
func.func @softsign(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK-DAG: %[[A:.*]] = nn.elementwise <abs> (%arg0)
  // CHECK: %[[S:.*]] = nn.elementwise <add> (%[[A]],
  // CHECK: %[[R:.*]] = nn.elementwise <reciprocal> (%[[S]])
  // CHECK: %[[SIGN:.*]] = nn.elementwise <sign> (%arg0)
  // CHECK: %[[REST:.*]] = nn.elementwise <sub> ({{.*}}, %[[R]])
  // CHECK: %[[TAIL:.*]] = nn.elementwise <mul> (%[[SIGN]], %[[REST]])
  // CHECK: %[[SMALL:.*]] = nn.elementwise <lt> (%[[A]],
  // CHECK: %[[NEAR:.*]] = nn.elementwise <mul> (%arg0, %[[R]])
  // CHECK: %[[Y:.*]] = nn.elementwise <select> (%[[SMALL]], %[[NEAR]], %[[TAIL]])
  // CHECK: return %[[Y]]
  %0 = nn.elementwise <abs> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x8xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%x, %2) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %3 : tensor<1x8xf32, #nn.extent<0>>
}

// x - tanh(x): a series near 0.
// CHECK-LABEL: func.func @tanhshrink
func.func @tanhshrink(%x: tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <tanh> (%arg0)
  // CHECK: %[[SQUARE:.*]] = nn.elementwise <mul> (%arg0, %arg0)
  // CHECK: nn.elementwise <min> (%[[SQUARE]],
  // CHECK: %[[NEAR:.*]] = nn.elementwise <mul> (%arg0, %{{[0-9]+}})
  // CHECK: %[[FAR:.*]] = nn.elementwise <add> (%arg0,
  // CHECK: nn.elementwise <select> ({{.*}}, %[[NEAR]], %[[FAR]])
  // CHECK-NOT: nn.elementwise <select>
  // CHECK: return
  %0 = nn.elementwise <tanh> (%x) : (tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <sub> (%x, %0) : (tensor<1x8xf32, #nn.extent<0>>, tensor<1x8xf32, #nn.extent<0>>) -> tensor<1x8xf32, #nn.extent<0>>
  return %1 : tensor<1x8xf32, #nn.extent<0>>
}
