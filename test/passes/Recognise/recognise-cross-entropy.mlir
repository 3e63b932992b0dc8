// Cross-entropy from log-probabilities at the labels, and what only looks like it.
// RUN: accum-opt %s -accum-recognise | FileCheck %s

// -log_softmax(x).gather(labels).
// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<1x6x8xf32, #nn.extent<0>>, %labels: tensor<1x6xi64, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>> {
  // CHECK: %[[NEGATIVE:.*]] = nn.elementwise <lt> (%arg1,
  // CHECK: %[[WRAPPED:.*]] = nn.elementwise <add> (%arg1,
  // CHECK: %[[LABELS:.*]] = nn.elementwise <select> (%[[NEGATIVE]], %[[WRAPPED]], %arg1)
  // CHECK: %[[LOSS:.*]], %{{.*}} = nn.cross_entropy(%arg0, %[[LABELS]])
  // CHECK-NEXT: return %[[LOSS]]
  %0 = nn.softmax(%x) {axis = 2 : i64, log} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.reshape %labels : tensor<1x6xi64, #nn.extent<0>> -> tensor<1x6x1xi64, #nn.extent<0>>
  %2 = nn.gather_elements(%0, %1) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xi64, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %3 = nn.reshape %2 : tensor<1x6x1xf32, #nn.extent<0>> -> tensor<1x6xf32, #nn.extent<0>>
  %4 = nn.elementwise <neg> (%3) : (tensor<1x6xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  return %4 : tensor<1x6xf32, #nn.extent<0>>
}

// log_softmax(x)[i, label[i]], from a decomposed log_softmax.
// CHECK-LABEL: func.func @by_index
func.func @by_index(%x: tensor<1x6x8xf32, #nn.extent<0>>, %labels: tensor<1x6xi64, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>> {
  // CHECK: %[[LOSS:.*]], %{{.*}} = nn.cross_entropy(%arg0,
  // CHECK-NEXT: nn.elementwise <neg> (%[[LOSS]])
  %0 = nn.reduce <max> (%x) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %1 = nn.reshape %0 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %2 = nn.elementwise <sub> (%x, %1) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %3 = nn.elementwise <exp> (%2) : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %4 = nn.reduce <sum> (%3) {axes = array<i64: 2>} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  %5 = nn.reshape %4 : tensor<1x6xf32, #nn.extent<0>> -> tensor<1x6x1xf32, #nn.extent<0>>
  %6 = nn.elementwise <log> (%5) : (tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  %7 = nn.elementwise <sub> (%2, %6) : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %8 = nn.gather(%7, %labels) {axis = 2 : i64, batch_dims = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6xi64, #nn.extent<0>>) -> tensor<1x6xf32, #nn.extent<0>>
  return %8 : tensor<1x6xf32, #nn.extent<0>>
}

// Near miss: probabilities, not their logarithms.
// CHECK-LABEL: func.func @probabilities
func.func @probabilities(%x: tensor<1x6x8xf32, #nn.extent<0>>, %labels: tensor<1x6x1xi64, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>> {
  // CHECK-NOT: cross_entropy
  // CHECK: return
  %0 = nn.softmax(%x) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.gather_elements(%0, %labels) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x1xi64, #nn.extent<0>>) -> tensor<1x6x1xf32, #nn.extent<0>>
  return %1 : tensor<1x6x1xf32, #nn.extent<0>>
}

// Near miss: two elements of each row.
// CHECK-LABEL: func.func @two_labels
func.func @two_labels(%x: tensor<1x6x8xf32, #nn.extent<0>>, %labels: tensor<1x6x2xi64, #nn.extent<0>>) -> tensor<1x6x2xf32, #nn.extent<0>> {
  // CHECK-NOT: cross_entropy
  // CHECK: return
  %0 = nn.softmax(%x) {axis = 2 : i64, log} : (tensor<1x6x8xf32, #nn.extent<0>>) -> tensor<1x6x8xf32, #nn.extent<0>>
  %1 = nn.gather_elements(%0, %labels) {axis = 2 : i64} : (tensor<1x6x8xf32, #nn.extent<0>>, tensor<1x6x2xi64, #nn.extent<0>>) -> tensor<1x6x2xf32, #nn.extent<0>>
  return %1 : tensor<1x6x2xf32, #nn.extent<0>>
}

// Labels whose samples lie along another axis than those of the logits.
// CHECK-LABEL: func.func @moved_batch
func.func @moved_batch(%x: tensor<1x1x8xf32, #nn.extent<0>>, %labels: tensor<1x1x1xi64, #nn.extent<1>>) -> tensor<1x1x1xf32, #nn.extent<1>> {
  // CHECK-NOT: cross_entropy
  // CHECK: return
  %0 = nn.softmax(%x) {axis = 2 : i64, log} : (tensor<1x1x8xf32, #nn.extent<0>>) -> tensor<1x1x8xf32, #nn.extent<0>>
  %1 = nn.gather_elements(%0, %labels) {axis = 2 : i64} : (tensor<1x1x8xf32, #nn.extent<0>>, tensor<1x1x1xi64, #nn.extent<1>>) -> tensor<1x1x1xf32, #nn.extent<1>>
  return %1 : tensor<1x1x1xf32, #nn.extent<1>>
}
