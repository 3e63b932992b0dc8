// Placement rules of data movement.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @reshape
func.func @reshape(%x: tensor<3x4xf32, #nn.batched<0>>, %s: tensor<3x1x4xf32, #nn.batched<1>>, %p: tensor<3x4xf32, #nn.partial<sum>>) {
  // CHECK: nn.reshape{{.*}} -> tensor<12xf32, #nn.batched<0>>
  %0 = nn.reshape %x : tensor<3x4xf32, #nn.batched<0>> -> tensor<12xf32, #nn.batched<0>>
  // CHECK: nn.reshape{{.*}} -> tensor<1x3x4xf32, #nn.batched<0>>
  %1 = nn.reshape %x : tensor<3x4xf32, #nn.batched<0>> -> tensor<1x3x4xf32, #nn.batched<0>>
  // CHECK: nn.reshape{{.*}} -> tensor<3x4xf32, #nn.batched<0, outer = 3>>
  %2 = nn.reshape %s : tensor<3x1x4xf32, #nn.batched<1>> -> tensor<3x4xf32, #nn.batched<0, outer = 3>>
  // CHECK: nn.reshape{{.*}} -> tensor<3x1x2x2xf32, #nn.batched<1>>
  %3 = nn.reshape %2 : tensor<3x4xf32, #nn.batched<0, outer = 3>> -> tensor<3x1x2x2xf32, #nn.batched<1>>
  // CHECK: nn.reshape{{.*}} -> tensor<12xf32, #nn.partial<sum>>
  %4 = nn.reshape %p : tensor<3x4xf32, #nn.partial<sum>> -> tensor<12xf32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @transpose_broadcast
func.func @transpose_broadcast(%x: tensor<1x3x4xf32, #nn.batched<0>>, %r: tensor<4xf32, #nn.replicated>, %p: tensor<1x4xf32, #nn.partial<sum>>) {
  // CHECK: nn.transpose{{.*}} -> tensor<3x1x4xf32, #nn.batched<1>>
  %0 = nn.transpose %x [1, 0, 2] : tensor<1x3x4xf32, #nn.batched<0>> -> tensor<3x1x4xf32, #nn.batched<1>>
  // CHECK: nn.broadcast{{.*}} -> tensor<5x1x3x4xf32, #nn.batched<1>>
  %1 = nn.broadcast %x : tensor<1x3x4xf32, #nn.batched<0>> -> tensor<5x1x3x4xf32, #nn.batched<1>>
  // CHECK: nn.broadcast{{.*}} -> tensor<1x3x4xf32, #nn.batched<0>>
  %2 = nn.broadcast %r : tensor<4xf32, #nn.replicated> -> tensor<1x3x4xf32, #nn.batched<0>>
  // CHECK: nn.broadcast{{.*}} -> tensor<3x4xf32, #nn.partial<sum>>
  %3 = nn.broadcast %p : tensor<1x4xf32, #nn.partial<sum>> -> tensor<3x4xf32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @blocks
func.func @blocks(%x: tensor<1x4xf32, #nn.batched<0>>, %y: tensor<1x4xf32, #nn.batched<0>>, %z: tensor<1x2xf32, #nn.batched<0>>, %p: tensor<4xf32, #nn.partial<sum>>, %v: tensor<f32, #nn.replicated>) {
  // CHECK: nn.concat{{.*}} -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  %0 = nn.concat(%x, %y) {axis = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  // CHECK: nn.slice{{.*}} -> tensor<1x2xf32, #nn.batched<0>>
  %1 = nn.slice %0 at [1, 1] by [1, 2] : tensor<2x4xf32, #nn.batched<0, outer = 2>> -> tensor<1x2xf32, #nn.batched<0>>
  // CHECK: nn.concat{{.*}} -> tensor<1x6xf32, #nn.batched<0>>
  %2 = nn.concat(%x, %z) {axis = 1 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x2xf32, #nn.batched<0>>) -> tensor<1x6xf32, #nn.batched<0>>
  // CHECK: nn.concat{{.*}} -> tensor<8xf32, #nn.partial<sum>>
  %3 = nn.concat(%p, %p) {axis = 0 : i64} : (tensor<4xf32, #nn.partial<sum>>, tensor<4xf32, #nn.partial<sum>>) -> tensor<8xf32, #nn.partial<sum>>
  // CHECK: nn.pad{{.*}} -> tensor<1x6xf32, #nn.batched<0>>
  %4 = nn.pad %x with %v low [0, 1] : (tensor<1x4xf32, #nn.batched<0>>, tensor<f32, #nn.replicated>) -> tensor<1x6xf32, #nn.batched<0>>
  // CHECK: nn.pad{{.*}} -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  %5 = nn.pad %x with %v low [1, 0] : (tensor<1x4xf32, #nn.batched<0>>, tensor<f32, #nn.replicated>) -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  return
}

// -----

func.func @reshape(%x: tensor<3x4xf32, #nn.batched<0>>, %s: tensor<3x1x4xf32, #nn.batched<1>>) {
  // expected-error @+1 {{it reshapes [3, N, 4] to [N, 12], which moves elements of one sample into the place of another}}
  %0 = nn.reshape %s : tensor<3x1x4xf32, #nn.batched<1>> -> tensor<1x12xf32, #nn.batched<0>>
  // expected-error @+1 {{it reshapes [3N, 4] to [3, N, 4]}}
  %1 = nn.reshape %x : tensor<3x4xf32, #nn.batched<0>> -> tensor<3x1x4xf32, #nn.batched<1>>
  return
}

// -----

func.func @broadcast(%x: tensor<1x4xf32, #nn.batched<0>>, %r: tensor<2x4xf32, #nn.replicated>, %p: tensor<4xf32, #nn.partial<sum>>) {
  // expected-error @+1 {{it repeats the batch [N, 4] along its own axis}}
  %0 = nn.broadcast %x : tensor<1x4xf32, #nn.batched<0>> -> tensor<3x4xf32, #nn.batched<0>>
  // expected-error @+1 {{it has a value of fixed shape [2, 4] along the batch}}
  %1 = nn.broadcast %r : tensor<2x4xf32, #nn.replicated> -> tensor<2x4xf32, #nn.batched<0>>
  // expected-error @+1 {{it spreads a sum over all samples back to each of them}}
  %2 = nn.broadcast %p : tensor<4xf32, #nn.partial<sum>> -> tensor<1x4xf32, #nn.batched<0>>
  return
}

// -----

func.func @blocks(%x: tensor<2x4xf32, #nn.batched<0>>, %y: tensor<3x4xf32, #nn.batched<0>>, %z: tensor<1x4xf32, #nn.batched<0>>, %r: tensor<1x4xf32, #nn.replicated>, %v: tensor<f32, #nn.replicated>) {
  // expected-error @+1 {{it takes some rows along the batch axis 0 of [2N, 4]}}
  %0 = nn.slice %x at [1, 0] by [1, 1] : tensor<2x4xf32, #nn.batched<0>> -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{it puts blocks with different numbers of rows per sample one behind the other}}
  %1 = nn.concat(%x, %y) {axis = 0 : i64} : (tensor<2x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<5x4xf32, #nn.batched<0>>
  // expected-error @+1 {{it puts a value of fixed shape [1, 4] beside the batch [N, 4]}}
  %2 = nn.concat(%z, %r) {axis = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.replicated>) -> tensor<2x4xf32, #nn.batched<0>>
  // expected-error @+1 {{it pads the batch axis 0 of [2N, 4]}}
  %3 = nn.pad %x with %v low [1, 0] : (tensor<2x4xf32, #nn.batched<0>>, tensor<f32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
  return
}
