// RUN: accum-opt %s -accum-hoist-reshapes | FileCheck %s

// CHECK-LABEL: func.func @bias
// CHECK-SAME: (%[[X:.*]]: tensor<16x32xf32>, %[[B:.*]]: tensor<32xf32>)
func.func @bias(%x: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<1x16x32xf32> {
  // CHECK-NEXT: %[[V:.*]] = nn.reshape %[[X]] : tensor<16x32xf32> -> tensor<1x16x32xf32>
  // CHECK-NEXT: %[[R:.*]] = nn.elementwise <add> (%[[V]], %[[B]])
  // CHECK-NEXT: return %[[R]]
  %0 = nn.elementwise <add> (%x, %b) : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %1 = nn.reshape %0 : tensor<16x32xf32> -> tensor<1x16x32xf32>
  return %1 : tensor<1x16x32xf32>
}

// Splitting the last axis would move the bias: it stays.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<16x4x8xf32> {
  // CHECK-NEXT: nn.elementwise <add>
  // CHECK-NEXT: nn.reshape
  %0 = nn.elementwise <add> (%x, %b) : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %1 = nn.reshape %0 : tensor<16x32xf32> -> tensor<16x4x8xf32>
  return %1 : tensor<16x4x8xf32>
}

// What only moves data is read through by the elementwise op: no view comes between.
// CHECK-LABEL: func.func @pads
func.func @pads(%x: tensor<1x16x8xf32>, %y: tensor<1x16x8xf32>, %zero: tensor<f32>) -> tensor<16x16xf32> {
  // CHECK: nn.elementwise <add>
  // CHECK-NEXT: nn.reshape
  %0 = nn.pad %x with %zero low [0, 0, 0] : (tensor<1x16x8xf32>, tensor<f32>) -> tensor<1x16x16xf32>
  %1 = nn.pad %y with %zero low [0, 0, 8] : (tensor<1x16x8xf32>, tensor<f32>) -> tensor<1x16x16xf32>
  %2 = nn.elementwise <add> (%0, %1) : (tensor<1x16x16xf32>, tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
  %3 = nn.reshape %2 : tensor<1x16x16xf32> -> tensor<16x16xf32>
  return %3 : tensor<16x16xf32>
}

// One value per sample is no vector along the last axis: the view gives the samples another one.
// CHECK-LABEL: func.func @samples
func.func @samples(%x: tensor<2x1xf32, #nn.batched<1>>, %s: tensor<1xf32, #nn.batched<0>>) -> tensor<2x1xf32, #nn.batched<0, outer = 2>> {
  // CHECK-NEXT: nn.elementwise <add>
  // CHECK-NEXT: nn.reshape
  %0 = nn.elementwise <add> (%x, %s) : (tensor<2x1xf32, #nn.batched<1>>, tensor<1xf32, #nn.batched<0>>) -> tensor<2x1xf32, #nn.batched<1>>
  %1 = nn.reshape %0 : tensor<2x1xf32, #nn.batched<1>> -> tensor<2x1xf32, #nn.batched<0, outer = 2>>
  return %1 : tensor<2x1xf32, #nn.batched<0, outer = 2>>
}
