// Products and softmax over batch * heads, as BLOOM and XGLM write attention.
// RUN: accum-opt %s -accum-recognise -split-input-file | FileCheck %s

// The slope lies over batch * heads too; scores come apart for the mask, and go together again.
// CHECK-LABEL: func.func @joined
// CHECK-NOT: nn.softmax
// CHECK: %[[SLOPE:.*]] = nn.reshape %arg3 : tensor<4x1x6xf32, #nn.extent<0>> -> tensor<1x4x1x6xf32, #nn.extent<0>>
// CHECK: %[[MASK:.*]] = nn.elementwise <add> (%[[SLOPE]], %{{.*}})
// CHECK: %[[Y:.*]], %{{.*}} = nn.attention(%arg0, %arg1, %arg2 mask %[[MASK]]) <infinite> {scale = 5.000000e-01 : f64}
// CHECK: return %[[Y]]
func.func @joined(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<1x4x6x8xf32, #nn.extent<0>>, %v: tensor<1x4x6x8xf32, #nn.extent<0>>, %slope: tensor<4x1x6xf32, #nn.extent<0>>, %pad: tensor<1x1x1x6xi1, #nn.extent<0>>) -> tensor<1x4x6x8xf32, #nn.extent<0>> {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %scale = nn.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %low = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %m = nn.elementwise <select> (%pad, %zero, %low) : (tensor<1x1x1x6xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x6xf32, #nn.extent<0>>
  %qj = nn.reshape %q : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %kj = nn.reshape %k : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %vj = nn.reshape %v : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %kt = nn.transpose %kj [0, 2, 1] : tensor<4x6x8xf32, #nn.extent<0>> -> tensor<4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "amk,akn->amn" (%qj, %kt) : (tensor<4x6x8xf32, #nn.extent<0>>, tensor<4x8x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %t = nn.elementwise <mul> (%s, %scale) : (tensor<4x6x6xf32, #nn.extent<0>>, tensor<f32>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%slope, %t) : (tensor<4x1x6xf32, #nn.extent<0>>, tensor<4x6x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %apart = nn.reshape %u : tensor<4x6x6xf32, #nn.extent<0>> -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %masked = nn.elementwise <add> (%apart, %m) : (tensor<1x4x6x6xf32, #nn.extent<0>>, tensor<1x1x1x6xf32, #nn.extent<0>>) -> tensor<1x4x6x6xf32, #nn.extent<0>>
  %again = nn.reshape %masked : tensor<1x4x6x6xf32, #nn.extent<0>> -> tensor<4x6x6xf32, #nn.extent<0>>
  %p = nn.softmax(%again) {axis = 2 : i64} : (tensor<4x6x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %y = nn.contract "amk,akn->amn" (%p, %vj) : (tensor<4x6x6xf32, #nn.extent<0>>, tensor<4x6x8xf32, #nn.extent<0>>) -> tensor<4x6x8xf32, #nn.extent<0>>
  %r = nn.reshape %y : tensor<4x6x8xf32, #nn.extent<0>> -> tensor<1x4x6x8xf32, #nn.extent<0>>
  return %r : tensor<1x4x6x8xf32, #nn.extent<0>>
}

// -----

// Joined from different axes: left alone.
// CHECK-LABEL: func.func @unlike
// CHECK: nn.contract "amk,akn->amn"
func.func @unlike(%q: tensor<1x4x6x8xf32, #nn.extent<0>>, %k: tensor<2x2x8x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>> {
  %qj = nn.reshape %q : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %kj = nn.reshape %k : tensor<2x2x8x6xf32, #nn.extent<0>> -> tensor<4x8x6xf32, #nn.extent<0>>
  %s = nn.contract "amk,akn->amn" (%qj, %kj) : (tensor<4x6x8xf32, #nn.extent<0>>, tensor<4x8x6xf32, #nn.extent<0>>) -> tensor<4x6x6xf32, #nn.extent<0>>
  return %s : tensor<4x6x6xf32, #nn.extent<0>>
}

// -----

// A softmax over the joined axes themselves: left alone.
// CHECK-LABEL: func.func @over_joined
// CHECK: nn.softmax(%{{.*}}) {axis = 0 : i64}
func.func @over_joined(%q: tensor<2x3x5xf32>) -> tensor<6x5xf32> {
  %j = nn.reshape %q : tensor<2x3x5xf32> -> tensor<6x5xf32>
  %p = nn.softmax(%j) {axis = 0 : i64} : (tensor<6x5xf32>) -> tensor<6x5xf32>
  return %p : tensor<6x5xf32>
}

// -----

// A bias of the heads of one exported sample beside the joined batch stays what it is: of fixed shape along the batch.
// CHECK-LABEL: func.func @baked_in
// CHECK: nn.elementwise <add> (%{{.*}}, %arg1) : (tensor<4x6x6xf32, #nn.extent<0>>, tensor<4x1x6xf32>)
func.func @baked_in(%s: tensor<1x4x6x6xf32, #nn.extent<0>>, %slope: tensor<4x1x6xf32>) -> tensor<1x4x6x6xf32, #nn.extent<0>> {
  %j = nn.reshape %s : tensor<1x4x6x6xf32, #nn.extent<0>> -> tensor<4x6x6xf32, #nn.extent<0>>
  %u = nn.elementwise <add> (%j, %slope) : (tensor<4x6x6xf32, #nn.extent<0>>, tensor<4x1x6xf32>) -> tensor<4x6x6xf32, #nn.extent<0>>
  %a = nn.reshape %u : tensor<4x6x6xf32, #nn.extent<0>> -> tensor<1x4x6x6xf32, #nn.extent<0>>
  return %a : tensor<1x4x6x6xf32, #nn.extent<0>>
}
