// A graph in two parts: rows of a batched value, a total of a sum, and the whole batch after them.
// RUN: accum-opt %s -accum-check-placement -accum-verify-placement | FileCheck %s

module attributes {accum.split_batch = 6 : i64} {
train.param @w : tensor<4x3xf32> from #train.file<"m.onnx", 0, 48, 0> trained
train.param @scale : tensor<f32> from #train.file<"m.onnx", 48, 4, 0> trained

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: -> tensor<f32, #nn.whole>
// CHECK: %[[Z:.*]] = nn.contract "bk,kn->bn"
// CHECK: %[[TERMS:.*]] = nn.mask_rows(%[[Z]]
// CHECK: %[[SUM:.*]] = nn.reduce <sum> (%[[TERMS]]) {{.*}} -> tensor<3xf32, #nn.partial<sum>>
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>> {train.name = "x"}) -> (tensor<1x3xf32, #nn.extent<0>>, tensor<3xf32>, tensor<1x1x3xf32, #nn.extent<1>>) {
  %w = train.load_param @w : tensor<4x3xf32>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4x3xf32>) -> tensor<1x3xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%z) {axes = array<i64: 0>} : (tensor<1x3xf32, #nn.extent<0>>) -> tensor<3xf32>
  %v = nn.reshape %z : tensor<1x3xf32, #nn.extent<0>> -> tensor<1x1x3xf32, #nn.extent<1>>
  return %z, %s, %v : tensor<1x3xf32, #nn.extent<0>>, tensor<3xf32>, tensor<1x1x3xf32, #nn.extent<1>>
}
// Each sample has a row of its own; spare rows, which are zero, go to the last one.
// CHECK: %[[ONE:.*]] = nn.iota 0 {nn.numbers_samples} : tensor<1xi64, #nn.batched<0>>
// CHECK: %[[LAST:.*]] = nn.constant {value = dense<5> : tensor<i64>}
// CHECK: %[[NUMBER:.*]] = nn.elementwise <add> (%[[ONE]], %{{.*}})
// CHECK: %[[PLACE:.*]] = nn.elementwise <min> (%[[NUMBER]], %[[LAST]])
// CHECK: %[[ROWS:.*]] = nn.scatter_add(%[[PLACE]], %{{.*}}) {axis = 0 : i64{{.*}}} : {{.*}} -> tensor<6x3xf32, #nn.partial<sum>>
// CHECK: %[[ALL:.*]] = nn.total %[[ROWS]] {nn.cut} : tensor<6x3xf32, #nn.partial<sum>> -> tensor<6x3xf32, #nn.replicated>
// CHECK: %[[WHOLE:.*]] = nn.reshape %[[ALL]] {nn.boundary} : tensor<6x3xf32, #nn.replicated> -> tensor<6x3xf32, #nn.whole>
// CHECK: %[[TOTAL:.*]] = nn.total %[[SUM]] {nn.cut}
// CHECK: nn.reshape %[[TOTAL]] {nn.boundary} : tensor<3xf32, #nn.replicated> -> tensor<3xf32, #nn.whole>
// A view of what has entered is no second buffer.
// CHECK: nn.reshape %[[WHOLE]] : tensor<6x3xf32, #nn.whole> -> tensor<1x6x3xf32, #nn.whole>
// CHECK-NOT: nn.scatter_add
// CHECK: nn.contract "ik,jk->ij" (%[[WHOLE]], %[[WHOLE]])
func.func @whole(%z: tensor<6x3xf32> {train.name = "z"}, %s: tensor<3xf32> {train.name = "s"}, %v: tensor<1x6x3xf32> {train.name = "v"}) -> tensor<f32> {
  %scale = train.load_param @scale : tensor<f32>
  %scores = nn.contract "ik,jk->ij" (%z, %z) : (tensor<6x3xf32>, tensor<6x3xf32>) -> tensor<6x6xf32>
  %scaled = nn.elementwise <mul> (%scores, %scale) : (tensor<6x6xf32>, tensor<f32>) -> tensor<6x6xf32>
  %all = nn.reduce <sum> (%scaled) {axes = array<i64: 0, 1>} : (tensor<6x6xf32>) -> tensor<f32>
  %t = nn.elementwise <mul> (%v, %s) : (tensor<1x6x3xf32>, tensor<3xf32>) -> tensor<1x6x3xf32>
  %r = nn.reduce <sum> (%t) {axes = array<i64: 0, 1, 2>} : (tensor<1x6x3xf32>) -> tensor<f32>
  %loss = nn.elementwise <add> (%all, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
}
