// RUN: accum-opt %s -accum-join-pads | FileCheck %s

// The cotangents of three slices, summed in any order.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[A:.*]]: tensor<1x4x2xf32>, %[[B:.*]]: tensor<1x4x3xf32>, %[[C:.*]]: tensor<1x4x1xf32>)
func.func @slices(%a: tensor<1x4x2xf32>, %b: tensor<1x4x3xf32>, %c: tensor<1x4x1xf32>) -> tensor<1x4x6xf32> {
  // CHECK: %[[R:.*]] = nn.concat(%[[C]], %[[A]], %[[B]]) {axis = 2 : i64}
  // CHECK-NEXT: return %[[R]]
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %0 = nn.pad %a with %zero low [0, 0, 1] : (tensor<1x4x2xf32>, tensor<f32>) -> tensor<1x4x6xf32>
  %1 = nn.pad %b with %zero low [0, 0, 3] : (tensor<1x4x3xf32>, tensor<f32>) -> tensor<1x4x6xf32>
  %2 = nn.pad %c with %zero low [0, 0, 0] : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<1x4x6xf32>
  %3 = nn.elementwise <add> (%0, %1) : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %4 = nn.elementwise <add> (%3, %2) : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  return %4 : tensor<1x4x6xf32>
}

// Near misses: a gap, an overlap, other axes, a value that is not zero, a pad with another reader, the batch axis.
// CHECK-LABEL: func.func @others
// CHECK-NOT: nn.concat
// CHECK: return
func.func @others(%a: tensor<4x2xf32>, %b: tensor<2x4xf32>, %s: tensor<1x4xf32, #nn.batched<0>>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32, #nn.batched<0, outer = 2>>) {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %one = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  %low = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %low2 = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %overlap = nn.elementwise <add> (%low, %low2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %low3 = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %middle = nn.pad %a with %zero low [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %gap = nn.elementwise <add> (%low3, %middle) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %low4 = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %down = nn.pad %b with %zero low [2, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %axes = nn.elementwise <add> (%low4, %down) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %low5 = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %high = nn.pad %a with %one low [0, 2] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %ones = nn.elementwise <add> (%low5, %high) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %low6 = nn.pad %a with %zero low [0, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %high2 = nn.pad %a with %zero low [0, 2] : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  %read = nn.elementwise <add> (%low6, %high2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %first = nn.pad %s with %zero low [0, 0] : (tensor<1x4xf32, #nn.batched<0>>, tensor<f32>) -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  %second = nn.pad %s with %zero low [1, 0] : (tensor<1x4xf32, #nn.batched<0>>, tensor<f32>) -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  %samples = nn.elementwise <add> (%first, %second) : (tensor<2x4xf32, #nn.batched<0, outer = 2>>, tensor<2x4xf32, #nn.batched<0, outer = 2>>) -> tensor<2x4xf32, #nn.batched<0, outer = 2>>
  return %overlap, %gap, %axes, %ones, %read, %low6, %samples : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32, #nn.batched<0, outer = 2>>
}
