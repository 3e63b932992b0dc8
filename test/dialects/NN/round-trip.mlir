// Every op prints as it was read.
// RUN: accum-opt %s | accum-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<4x8xf32, #nn.extent<0>>, %b: tensor<8xf32>) -> tensor<4x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <add> (%{{.*}}, %{{.*}}) : (tensor<4x8xf32, #nn.extent<0>>, tensor<8xf32>) -> tensor<4x8xf32, #nn.extent<0>>
  %0 = nn.elementwise <add> (%a, %b) : (tensor<4x8xf32, #nn.extent<0>>, tensor<8xf32>) -> tensor<4x8xf32, #nn.extent<0>>
  // CHECK: nn.cast %{{.*}} : tensor<4x8xf32, #nn.extent<0>> -> tensor<4x8xf64, #nn.extent<0>>
  %1 = nn.cast %0 : tensor<4x8xf32, #nn.extent<0>> -> tensor<4x8xf64, #nn.extent<0>>
  return %0 : tensor<4x8xf32, #nn.extent<0>>
}

// CHECK-LABEL: func.func @placed
func.func @placed(%x: tensor<1x24x32xf32, #nn.batched<0>>, %w: tensor<32x96xf32, #nn.replicated>) -> tensor<f32, #nn.partial<sum>> {
  // CHECK: nn.contract "bsk,kn->bsn"
  %0 = nn.contract "bsk,kn->bsn" (%x, %w) : (tensor<1x24x32xf32, #nn.batched<0>>, tensor<32x96xf32, #nn.replicated>) -> tensor<1x24x96xf32, #nn.batched<0>>
  // CHECK: nn.transpose %{{.*}} [1, 0, 2] {{.*}} -> tensor<24x1x96xf32, #nn.batched<1>>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<1x24x96xf32, #nn.batched<0>> -> tensor<24x1x96xf32, #nn.batched<1>>
  // CHECK: nn.reshape {{.*}} -> tensor<24x96xf32, #nn.batched<0, outer = 24>>
  %2 = nn.reshape %1 : tensor<24x1x96xf32, #nn.batched<1>> -> tensor<24x96xf32, #nn.batched<0, outer = 24>>
  // CHECK: nn.layer_norm(%{{[^ ]*}}) {axis = 1 : i64
  %3:3 = nn.layer_norm(%2) {axis = 1 : i64, eps = 1.0e-5 : f64} : (tensor<24x96xf32, #nn.batched<0, outer = 24>>) -> (tensor<24x96xf32, #nn.batched<0, outer = 24>>, tensor<24xf32, #nn.batched<0, outer = 24>>, tensor<24xf32, #nn.batched<0, outer = 24>>)
  // CHECK: nn.reduce <sum> (%{{.*}}) {axes = array<i64: 0, 1>}
  %4 = nn.reduce <sum> (%3#0) {axes = array<i64: 0, 1>} : (tensor<24x96xf32, #nn.batched<0, outer = 24>>) -> tensor<f32, #nn.partial<sum>>
  return %4 : tensor<f32, #nn.partial<sum>>
}

// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<97x8xf32, #nn.replicated>, %i: tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5x8xf32, #nn.batched<0>> {
  // CHECK: nn.gather(%{{.*}}, %{{.*}}) {axis = 0 : i64}
  %0 = nn.gather(%x, %i) {axis = 0 : i64} : (tensor<97x8xf32, #nn.replicated>, tensor<1x5xi64, #nn.batched<0>>) -> tensor<1x5x8xf32, #nn.batched<0>>
  return %0 : tensor<1x5x8xf32, #nn.batched<0>>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<1x4x9x8xf32, #nn.batched<0>>, %k: tensor<1x2x7x8xf32, #nn.batched<0>>, %v: tensor<1x2x7x6xf32, #nn.batched<0>>, %m: tensor<1x1x1x7xi1, #nn.batched<0>>) -> tensor<1x4x9x6xf32, #nn.batched<0>> {
  // CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}) <lowered> causal {scale = 2.500000e-01 : f64} :
  // CHECK-SAME: -> (tensor<1x4x9x6xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  %y, %lse = nn.attention(%q, %k, %v mask %m) <lowered> causal {scale = 0.25 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x7x8xf32, #nn.batched<0>>, tensor<1x2x7x6xf32, #nn.batched<0>>, tensor<1x1x1x7xi1, #nn.batched<0>>) -> (tensor<1x4x9x6xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  // CHECK: nn.attention_bwd(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}) <lowered> causal {scale = 2.500000e-01 : f64} :
  %d:3 = nn.attention_bwd(%q, %k, %v, %y, %lse, %y mask %m) <lowered> causal {scale = 0.25 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x7x8xf32, #nn.batched<0>>, tensor<1x2x7x6xf32, #nn.batched<0>>, tensor<1x4x9x6xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>, tensor<1x4x9x6xf32, #nn.batched<0>>, tensor<1x1x1x7xi1, #nn.batched<0>>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x7x8xf32, #nn.batched<0>>, tensor<1x2x7x6xf32, #nn.batched<0>>)
  // CHECK: nn.attention(%{{.*}}, %{{.*}}, %{{.*}}) <infinite> {scale = 1.000000e+00 : f64}
  %z, %s = nn.attention(%q, %k, %v) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x7x8xf32, #nn.batched<0>>, tensor<1x2x7x6xf32, #nn.batched<0>>) -> (tensor<1x4x9x6xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  return %z : tensor<1x4x9x6xf32, #nn.batched<0>>
}
