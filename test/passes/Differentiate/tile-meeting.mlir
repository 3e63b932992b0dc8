// Values of pairs of samples are computed in tiles of rows, here of 2 of 5 samples: none of 5 x 5 stands whole.
// RUN: accum-opt %s -split-input-file -accum-check-placement -accum-differentiate="tile-rows=2" -cse -accum-verify-placement | FileCheck %s

module attributes {accum.split_batch = 5 : i64} {
train.param @w : tensor<4x3xf32> from #train.file<"m.onnx", 0, 48, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>> {train.name = "x"}) -> tensor<1x3xf32, #nn.extent<0>> {
  %w = train.load_param @w : tensor<4x3xf32>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4x3xf32>) -> tensor<1x3xf32, #nn.extent<0>>
  return %z : tensor<1x3xf32, #nn.extent<0>>
}
// The loss is linear in what a tile adds: each is differentiated right after it is computed. What all tiles say of the columns is
// added up, of the rows put together.
// CHECK-LABEL: train.phase "whole" once
// CHECK-NOT: tensor<5x5x
// CHECK: %[[Z:.*]] = nn.reshape {{.*}}nn.boundary
// CHECK: %[[ROWS:.*]] = nn.slice %[[Z]] at [0, 0]
// CHECK: %[[SCORES:.*]] = nn.contract "ik,jk->ij" (%[[ROWS]], %[[Z]]) {{.*}} -> tensor<2x5xf32, #nn.whole>
// CHECK: nn.elementwise <exp> (%[[SCORES]])
// CHECK: %[[COLUMNS:.*]] = nn.contract "ik,ij->jk"
// CHECK: nn.slice %[[Z]] at [2, 0]
// CHECK: %[[MORE:.*]] = nn.contract "ik,ij->jk"
// CHECK: nn.elementwise <add> (%[[COLUMNS]], %[[MORE]]) {nn.running_sum}
// CHECK: nn.slice %[[Z]] at [4, 0] {{.*}} -> tensor<1x3xf32, #nn.whole>
// CHECK: nn.concat({{.*}}) {axis = 0 : i64} : (tensor<2x3xf32, #nn.whole>, tensor<2x3xf32, #nn.whole>, tensor<1x3xf32, #nn.whole>) -> tensor<5x3xf32, #nn.whole>
// CHECK-NOT: tensor<5x5x
func.func @whole(%z: tensor<5x3xf32> {train.name = "z"}) -> tensor<f32> {
  %scores = nn.contract "ik,jk->ij" (%z, %z) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x5xf32>
  %eye = nn.constant {value = dense<[[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0]]> : tensor<5x5xf32>} : tensor<5x5xf32>
  %masked = nn.elementwise <mul> (%scores, %eye) : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %e = nn.elementwise <exp> (%scores) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %d = nn.elementwise <sub> (%e, %masked) : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %rows = nn.reduce <sum> (%d) {axes = array<i64: 1>} : (tensor<5x5xf32>) -> tensor<5xf32>
  %logs = nn.elementwise <log> (%rows) : (tensor<5xf32>) -> tensor<5xf32>
  %loss = nn.reduce <sum> (%logs) {axes = array<i64: 0>} : (tensor<5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----
module attributes {accum.split_batch = 5 : i64} {
train.param @w : tensor<4x3xf32> from #train.file<"m.onnx", 0, 48, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>> {train.name = "x"}) -> tensor<1x3xf32, #nn.extent<0>> {
  %w = train.load_param @w : tensor<4x3xf32>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4x3xf32>) -> tensor<1x3xf32, #nn.extent<0>>
  return %z : tensor<1x3xf32, #nn.extent<0>>
}
// The root of a sum over all pairs: its derivative is known when all tiles are, which are then computed again.
// CHECK: train.phase "whole" once
// CHECK-COUNT-3: nn.slice {{.*}}: tensor<5x3xf32
// CHECK: nn.elementwise <sqrt>
// CHECK-COUNT-3: nn.slice {{.*}}nn.again
// CHECK: nn.concat
func.func @whole(%z: tensor<5x3xf32> {train.name = "z"}) -> tensor<f32> {
  %scores = nn.contract "ik,jk->ij" (%z, %z) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x5xf32>
  %e = nn.elementwise <exp> (%scores) : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %sum = nn.reduce <sum> (%e) {axes = array<i64: 0, 1>} : (tensor<5x5xf32>) -> tensor<f32>
  %loss = nn.elementwise <sqrt> (%sum) : (tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----
module attributes {accum.split_batch = 5 : i64} {
train.param @w : tensor<4x3xf32> from #train.file<"m.onnx", 0, 48, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>> {train.name = "x"}) -> tensor<1x3xf32, #nn.extent<0>> {
  %w = train.load_param @w : tensor<4x3xf32>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4x3xf32>) -> tensor<1x3xf32, #nn.extent<0>>
  return %z : tensor<1x3xf32, #nn.extent<0>>
}
// Rows that are mixed have no tiles: it stays as it is.
// CHECK: nn.softmax({{.*}}) {axis = 0 : i64} : (tensor<5x5xf32, #nn.whole>)
func.func @whole(%z: tensor<5x3xf32> {train.name = "z"}) -> tensor<f32> {
  %scores = nn.contract "ik,jk->ij" (%z, %z) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x5xf32>
  %p = nn.softmax(%scores) {axis = 0 : i64} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %q = nn.softmax(%p) {axis = 1 : i64} : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = nn.elementwise <mul> (%q, %q) : (tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<5x5xf32>
  %loss = nn.reduce <sum> (%s) {axes = array<i64: 0, 1>} : (tensor<5x5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}
