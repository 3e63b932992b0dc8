// Composite ops become elementwise ops and reductions; kernels without axes that mean something become flat.
// RUN: accum-opt %s --accum-expand-kernels --split-input-file | FileCheck %s

// CHECK-LABEL: func.func private @softmax
// CHECK: %[[M:.*]] = nn.reduce <max> (%arg0) {axes = array<i64: 1>}
// CHECK: %[[C:.*]] = nn.reshape %[[M]] : tensor<4xf32> -> tensor<4x1xf32>
// CHECK: %[[D:.*]] = nn.elementwise <sub> (%arg0, %[[C]])
// CHECK: %[[E:.*]] = nn.elementwise <exp> (%[[D]])
// CHECK: nn.reduce <sum> (%[[E]])
// CHECK-NOT: nn.softmax
func.func private @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {accum.kernel = 0 : i64} {
  %y = nn.softmax (%x) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func private @flat
// CHECK-SAME: (%{{.*}}: tensor<24xf32>, %{{.*}}: tensor<f32>) -> tensor<24xf32>
func.func private @flat(%x: tensor<2x3x4xf32>, %s: tensor<1x1xf32>) -> tensor<2x3x4xf32>
    attributes {accum.kernel = 0 : i64} {
  %y = nn.elementwise <mul> (%x, %s) : (tensor<2x3x4xf32>, tensor<1x1xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// What is no kernel stays.
// CHECK-LABEL: func.func private @other
// CHECK: nn.softmax
func.func private @other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = nn.softmax (%x) {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
