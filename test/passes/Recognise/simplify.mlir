// Numbers computed from numbers, and transposes between reshapes.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// The scale of attention: the root of 1 / sqrt(16).
// CHECK-LABEL: func.func @scale
func.func @scale(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>> {
  // CHECK: %[[HALF:.*]] = nn.constant {value = dense<5.000000e-01> : tensor<f32>}
  // CHECK-NEXT: nn.elementwise <mul> (%arg0, %[[HALF]])
  %n = nn.constant {value = dense<16> : tensor<i64>} : tensor<i64>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %0 = nn.cast %n : tensor<i64> -> tensor<f32>
  %1 = nn.elementwise <sqrt> (%0) : (tensor<f32>) -> tensor<f32>
  %2 = nn.elementwise <div> (%one, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = nn.elementwise <sqrt> (%2) : (tensor<f32>) -> tensor<f32>
  %4 = nn.elementwise <mul> (%x, %3) : (tensor<1x4xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x4xf32, #nn.extent<0>>
  return %4 : tensor<1x4xf32, #nn.extent<0>>
}

// A byte has no sign.
// CHECK-LABEL: func.func @byte
func.func @byte() -> tensor<f32> {
  // CHECK-NEXT: nn.constant {value = dense<2.000000e+02> : tensor<f32>}
  %n = nn.constant {value = dense<200> : tensor<ui8>} : tensor<ui8>
  %0 = nn.cast %n : tensor<ui8> -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @one_transpose
func.func @one_transpose(%x: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<1x4x8x6xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]] = nn.transpose %arg0 [0, 1, 3, 2]
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.reshape %x : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %1 = nn.transpose %0 [0, 2, 1] : tensor<4x6x8xf32, #nn.extent<0>> -> tensor<4x8x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<4x8x6xf32, #nn.extent<0>> -> tensor<1x4x8x6xf32, #nn.extent<0>>
  return %2 : tensor<1x4x8x6xf32, #nn.extent<0>>
}

// Near miss: the merged axis moves.
// CHECK-LABEL: func.func @merged_axis_moves
func.func @merged_axis_moves(%x: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<6x1x4x8xf32, #nn.extent<1>> {
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.transpose
  // CHECK-NEXT: nn.reshape
  %0 = nn.reshape %x : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<4x6x8xf32, #nn.extent<0>> -> tensor<6x4x8xf32, #nn.extent<1>>
  %2 = nn.reshape %1 : tensor<6x4x8xf32, #nn.extent<1>> -> tensor<6x1x4x8xf32, #nn.extent<1>>
  return %2 : tensor<6x1x4x8xf32, #nn.extent<1>>
}

// Near miss: split otherwise than merged.
// CHECK-LABEL: func.func @split_otherwise
func.func @split_otherwise(%x: tensor<1x4x6x8xf32, #nn.extent<0>>) -> tensor<2x2x8x6xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.reshape
  // CHECK-NEXT: nn.transpose
  // CHECK-NEXT: nn.reshape
  %0 = nn.reshape %x : tensor<1x4x6x8xf32, #nn.extent<0>> -> tensor<4x6x8xf32, #nn.extent<0>>
  %1 = nn.transpose %0 [0, 2, 1] : tensor<4x6x8xf32, #nn.extent<0>> -> tensor<4x8x6xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<4x8x6xf32, #nn.extent<0>> -> tensor<2x2x8x6xf32, #nn.extent<0>>
  return %2 : tensor<2x2x8x6xf32, #nn.extent<0>>
}

// A merge of leading axes that moves the batch: [2, 1, N, 2] as [2N, 1, 2] as [2N, 2, 1] as [2, 1, 2, N] is no transpose.
// CHECK-LABEL: func.func @moved_batch
func.func @moved_batch(%x: tensor<2x1x1x2xf32, #nn.extent<2>>) -> tensor<2x1x2x1xf32, #nn.extent<3>> {
  // CHECK: nn.transpose %{{.*}} [0, 2, 1]
  // CHECK-NEXT: nn.reshape
  %0 = nn.reshape %x : tensor<2x1x1x2xf32, #nn.extent<2>> -> tensor<2x1x2xf32, #nn.extent<0>>
  %1 = nn.transpose %0 [0, 2, 1] : tensor<2x1x2xf32, #nn.extent<0>> -> tensor<2x2x1xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<2x2x1xf32, #nn.extent<0>> -> tensor<2x1x2x1xf32, #nn.extent<3>>
  return %2 : tensor<2x1x2x1xf32, #nn.extent<3>>
}

// What is scattered into zeros is the sum itself.
// CHECK-LABEL: func.func @into_zeros
func.func @into_zeros(%x: tensor<1xf32, #nn.extent<0>>, %i: tensor<1xi64, #nn.extent<0>>) -> tensor<5xf32> {
  // CHECK: %[[S:.*]] = nn.scatter_elements_add
  // CHECK-NEXT: return %[[S]]
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %table = nn.broadcast %zero : tensor<f32> -> tensor<5xf32>
  %s = nn.scatter_elements_add(%i, %x) {axis = 0 : i64} : (tensor<1xi64, #nn.extent<0>>, tensor<1xf32, #nn.extent<0>>) -> tensor<5xf32>
  %r = nn.elementwise <add> (%table, %s) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}
