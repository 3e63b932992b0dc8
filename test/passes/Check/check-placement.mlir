// What check adds to a graph whose batch can be cut.
// RUN: accum-opt %s -accum-check-placement -accum-verify-placement | FileCheck %s

train.param @w : tensor<4x3xf32> from #train.file<"m.onnx", 0, 48, 0> trained

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[X:.*]]: tensor<1x4xf32, #nn.batched<0>> {train.name = "x"}
// CHECK-SAME: %[[MASK:.*]]: tensor<1x3xi1, #nn.batched<0>>
// CHECK-SAME: %[[VALID:.*]]: tensor<1xi1, #nn.batched<0>> {train.name = "valid"}
// CHECK-SAME: %{{.*}}: tensor<i64, #nn.replicated> {train.name = "first_row"}
// CHECK-SAME: -> tensor<f32, #nn.partial<sum>>
// The number of samples is that of the valid rows.
// CHECK: %[[ONES:.*]] = nn.cast %[[VALID]]
// CHECK: %[[ROWS:.*]] = nn.reduce <sum> (%[[ONES]])
// CHECK: %[[N:.*]] = nn.total %[[ROWS]] : tensor<i64, #nn.partial<sum>> -> tensor<i64, #nn.replicated>
// CHECK: %[[W:.*]] = train.load_param @w : tensor<4x3xf32, #nn.replicated>
// CHECK: nn.contract "bk,kn->bn" (%[[X]], %[[W]])
// CHECK: nn.dropout(%{{.*}}) {dim = 0 : i64, key = 7 : i64, outer = 1 : i64, ratio = 1.000000e-01 : f64, rows = 1 : i64}
// CHECK: %[[KEPT:.*]] = nn.elementwise <select>
// CHECK: %[[TERMS:.*]] = nn.mask_rows(%[[KEPT]], %[[VALID]]) {dim = 0 : i64}
// CHECK: %[[SUM:.*]] = nn.reduce <sum> (%[[TERMS]]) {{.*}} -> tensor<f32, #nn.partial<sum>>
// The count is summed up as an integer.
// CHECK: %[[COUNTED:.*]] = nn.mask_rows(
// CHECK: %[[COUNT:.*]] = nn.reduce <sum> (%[[COUNTED]])
// CHECK: %[[TOTAL:.*]] = nn.total %[[COUNT]] : tensor<i64, #nn.partial<sum>> -> tensor<i64, #nn.replicated>
// CHECK: %[[DENOMINATOR:.*]] = nn.cast %[[TOTAL]]
// CHECK: %[[MEAN:.*]] = nn.elementwise <div> (%[[SUM]], %[[DENOMINATOR]])
// Weight decay counts once, not once per micro-step.
// CHECK: %[[DECAY:.*]] = nn.share(%{{.*}}) : (tensor<f32, #nn.replicated>) -> tensor<f32, #nn.partial<sum>>
// CHECK: nn.elementwise <add> (%[[MEAN]], %[[DECAY]])
// CHECK: nn.cast %[[N]]
// CHECK: return %{{.*}} : tensor<f32, #nn.partial<sum>>
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>> {train.name = "x"}, %mask: tensor<1x3xi1, #nn.extent<0>> {train.name = "mask"}) -> tensor<f32> {
  %w = train.load_param @w : tensor<4x3xf32>
  %h = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4x3xf32>) -> tensor<1x3xf32, #nn.extent<0>>
  %d = nn.dropout(%h) {ratio = 0.1 : f64, key = 7 : i64} : (tensor<1x3xf32, #nn.extent<0>>) -> tensor<1x3xf32, #nn.extent<0>>
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %k = nn.elementwise <select> (%mask, %d, %zero) : (tensor<1x3xi1, #nn.extent<0>>, tensor<1x3xf32, #nn.extent<0>>, tensor<f32>) -> tensor<1x3xf32, #nn.extent<0>>
  %s = nn.reduce <sum> (%k) {axes = array<i64: 0, 1>} : (tensor<1x3xf32, #nn.extent<0>>) -> tensor<f32>
  %i = nn.cast %mask : tensor<1x3xi1, #nn.extent<0>> -> tensor<1x3xi64, #nn.extent<0>>
  %c = nn.reduce <sum> (%i) {axes = array<i64: 0, 1>} : (tensor<1x3xi64, #nn.extent<0>>) -> tensor<i64>
  %f = nn.cast %c : tensor<i64> -> tensor<f32>
  %l = nn.elementwise <div> (%s, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %w2 = nn.elementwise <mul> (%w, %w) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %r = nn.reduce <sum> (%w2) {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  %l2 = nn.elementwise <add> (%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %n = nn.batch_size : tensor<i64>
  %nf = nn.cast %n : tensor<i64> -> tensor<f32>
  %l3 = nn.elementwise <div> (%l2, %nf) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l3 : tensor<f32>
}
