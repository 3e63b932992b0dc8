// Softmax and its logarithm, the guard of masked rows, and what only looks like them.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: %[[Y:.*]] = nn.softmax(%arg0) {axis = 2 : i64}
  // CHECK-NEXT: return %[[Y]]
  %0 = nn.reduce <max> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%x, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <exp> (%2) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.reduce <sum> (%3) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %5 = nn.reshape %4 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %6 = nn.elementwise <div> (%3, %5) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %6 : tensor<1x6x8xf32, #nn.extent<0>>
}

// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.softmax(%arg0) {axis = 2 : i64, log}
  %0 = nn.reduce <max> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%x, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <exp> (%2) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.reduce <sum> (%3) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %5 = nn.reshape %4 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %6 = nn.elementwise <log> (%5) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <sub> (%2, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %7 : tensor<1x6x8xf32, #nn.extent<0>>
}

// CHECK-LABEL: func.func @log_of_softmax
func.func @log_of_softmax(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NEXT: nn.softmax(%arg0) {axis = 2 : i64, log}
  %0 = nn.softmax(%x) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <log> (%0) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %1 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: the exponentials of another value.
// CHECK-LABEL: func.func @other_sum
func.func @other_sum(%x: tensor<1x6x8xf32, #nn.extent<0>>, %y: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: softmax
  // CHECK: return
  %0 = nn.elementwise <exp> (%x) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.elementwise <exp> (%y) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.reduce <sum> (%1) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %3 = nn.reshape %2 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %4 = nn.elementwise <div> (%0, %3) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %4 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: one sum for all rows of a sample.
// CHECK-LABEL: func.func @whole_sum
func.func @whole_sum(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK-NOT: softmax
  // CHECK: return
  %0 = nn.elementwise <exp> (%x) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 1, 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1xf32, #nn.extent<0>> -> tensor<1x1x1xf32, #nn.extent<0>>
  %3 = nn.elementwise <div> (%0, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x1x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %3 : tensor<1x6x8xf32, #nn.extent<0>>
}

// The lowest finite number is no infinity: no row is NaN, and the guard goes.
// CHECK-LABEL: func.func @guard_without_infinity
func.func @guard_without_infinity(%h: tensor<1x6x8xf32, #nn.extent<0>>, %w: tensor<8x8xf32>, %keep: tensor<1x6x8xi1, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK: %[[S:.*]] = nn.softmax(
  // CHECK-NEXT: return %[[S]]
  %q = nn.contract "bsk,kn->bsn" (%h, %w) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<8x8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %0 = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %1 = nn.constant {value = dense<-3.40282347E+38> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <select> (%keep, %0, %1) : (tensor<1x6x8xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <add> (%q, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.softmax(%3) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <is_nan> (%4) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xi1, #nn.extent<0>>
  %6 = nn.elementwise <select> (%5, %0, %4) : (tensor<1x6x8xi1, #nn.extent<0>>, tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %6 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Rows of -inf are replaced before the softmax as well as behind it: no NaN, no NaN derivative.
// CHECK-LABEL: func.func @guard_of_masked_rows
func.func @guard_of_masked_rows(%h: tensor<1x6x8xf32, #nn.extent<0>>, %w: tensor<8x8xf32>, %keep: tensor<1x6x8xi1, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK: %[[SCORES:.*]] = nn.elementwise <add>
  // CHECK: %[[TOP:.*]] = nn.reduce <max> (%[[SCORES]]) {axes = array<i64: 2>}
  // CHECK: %[[COLUMN:.*]] = nn.reshape %[[TOP]]
  // CHECK: %[[DEAD:.*]] = nn.elementwise <eq> (%[[COLUMN]],
  // CHECK: %[[LIVE:.*]] = nn.elementwise <select> (%[[DEAD]], %{{.*}}, %[[SCORES]])
  // CHECK: %[[SOFTMAX:.*]] = nn.softmax(%[[LIVE]])
  // CHECK: %[[Y:.*]] = nn.elementwise <select> (%[[DEAD]], %{{.*}}, %[[SOFTMAX]])
  // CHECK-NOT: is_nan
  // CHECK: return %[[Y]]
  %q = nn.contract "bsk,kn->bsn" (%h, %w) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<8x8xf32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %0 = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %1 = nn.constant {value = dense<0xFF800000> : tensor<f32>} : tensor<f32>
  %2 = nn.elementwise <select> (%keep, %0, %1) : (tensor<1x6x8xi1, #nn.extent<0>>, tensor<f32>, tensor<f32>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <add> (%q, %2) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.softmax(%3) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %5 = nn.elementwise <is_nan> (%4) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xi1, #nn.extent<0>>
  %6 = nn.elementwise <select> (%5, %0, %4) : (tensor<1x6x8xi1, #nn.extent<0>>, tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %6 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Near miss: NaN replaced in a value that is no softmax.
// CHECK-LABEL: func.func @guard_of_something_else
func.func @guard_of_something_else(%x: tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>> {
  // CHECK: nn.elementwise <is_nan>
  // CHECK: nn.elementwise <select>
  %0 = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %1 = nn.elementwise <log> (%x) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %2 = nn.elementwise <is_nan> (%1) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xi1, #nn.extent<0>>
  %3 = nn.elementwise <select> (%2, %0, %1) : (tensor<1x6x8xi1, #nn.extent<0>>, tensor<f32>, tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  return %3 : tensor<1x6x8xf32, #nn.extent<0>>
}

// Sums of rows whose samples were moved to another axis: every row meets the sum of every sample.
// CHECK-LABEL: func.func @moved_batch
func.func @moved_batch(%x: tensor<1x1x4xf32, #nn.extent<0>>) -> tensor<1x1x4xf32, #nn.extent<0, 1>> {
  // CHECK-NOT: nn.softmax
  %0 = nn.elementwise <exp> (%x) : (tensor<1x1x4xf32, #nn.extent<0>>) -> tensor<1x1x4xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 2>} : (tensor<1x1x4xf32, #nn.extent<0>>) -> tensor<1x1xf32, #nn.extent<0>>
  %2 = nn.reshape %1 : tensor<1x1xf32, #nn.extent<0>> -> tensor<1x1x1xf32, #nn.extent<1>>
  %3 = nn.elementwise <div> (%0, %2) : (tensor<1x1x4xf32, #nn.extent<0>>, tensor<1x1x1xf32, #nn.extent<1>>) -> tensor<1x1x4xf32, #nn.extent<0, 1>>
  return %3 : tensor<1x1x4xf32, #nn.extent<0, 1>>
}
