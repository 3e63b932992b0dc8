// A linear model with a mean over counted targets: the count is a total in the pre-pass, gradients are partial.
// RUN: accum-opt %s -accum-differentiate=optimizer=sgd -accum-verify-placement | FileCheck %s

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained
train.param @unused : tensor<8xf32> from <"m.onnx", 128, 32, 0> trained

// CHECK: train.param @unused : tensor<8xf32> from <"m.onnx", 128, 32, 0>
// CHECK-NOT: trained
// CHECK-LABEL: train.step @step
// CHECK-SAME: inputs [{name = "x"}, {name = "t"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}]
// CHECK: ^bb0(%[[INX:.*]]: tensor<1x8xf32, #nn.batched<0>>, %[[INT:.*]]: tensor<1x4xf32, #nn.batched<0>>, {{.*}} %[[HYPER:[^:]*]]: tensor<8xf64, #nn.replicated>):
// CHECK: %[[COUNTED:.*]] = train.phase "pre-pass" loop "{{.*}}"(%{{.*}}: tensor<1xi1, #nn.batched<0>> = %{{.*}}) -> tensor<f32, #nn.replicated> {
// CHECK:   %[[COUNT:.*]] = nn.reduce <sum>
// CHECK:   train.yield %[[COUNT]] : tensor<f32, #nn.partial<sum>> to ["total0"]
// CHECK: %[[SUMS:.*]]:2 = train.phase "micro" loop "micro-steps"(%[[X:.*]]: tensor<1x8xf32, #nn.batched<0>> = %[[INX]], %[[T:.*]]: tensor<1x4xf32, #nn.batched<0>> = %[[INT]], {{.*}} %[[TOTAL:[^:]*]]: tensor<f32, #nn.replicated> = %[[COUNTED]]) -> (tensor<f64, #nn.replicated>, tensor<8x4xf32, #nn.replicated>) {
// CHECK:   %[[W:.*]] = train.load_param @w
// CHECK:   nn.contract "bk,kn->bn" (%[[X]], %[[W]])
// CHECK:   %[[DW:.*]] = nn.contract "bk,bn->kn" (%[[X]], %{{.*}}) {{.*}} -> tensor<8x4xf32, #nn.partial<sum>>
// CHECK:   train.yield %{{.*}}, %[[DW]] : tensor<f64, #nn.partial<sum>>, tensor<8x4xf32, #nn.partial<sum>> to ["loss", @w]
// CHECK: train.phase "update" once(%[[RATES:.*]]: tensor<8xf64, #nn.replicated> = %[[HYPER]], %[[G:.*]]: tensor<8x4xf32, #nn.replicated> = %[[SUMS]]#1) {
// CHECK:   train.update "sgd" @w, %[[G]], %[[RATES]] : tensor<8x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
// CHECK-LABEL: train.step @eval
// CHECK-NOT: hyper
// CHECK: train.phase "evaluation" loop
// CHECK-NOT: -> tensor<8x4xf32, #nn.partial<sum>>
// CHECK: train.yield %{{.*}} : tensor<f64, #nn.partial<sum>> to ["loss"]
func.func @forward(%x: tensor<1x8xf32, #nn.batched<0>> {train.name = "x"}, %t: tensor<1x4xf32, #nn.batched<0>> {train.name = "t"},
                   %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"}, %row: tensor<i64, #nn.replicated> {train.name = "first_row"})
    -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
  %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  %e = nn.elementwise <sub> (%y, %t) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %s = nn.elementwise <mul> (%e, %e) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %m = nn.mask_rows(%s, %valid) {dim = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %sum = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  %v = nn.cast %valid : tensor<1xi1, #nn.batched<0>> -> tensor<1xf32, #nn.batched<0>>
  %c = nn.reduce <sum> (%v) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  %total = nn.total %c : tensor<f32, #nn.partial<sum>> -> tensor<f32, #nn.replicated>
  %loss = nn.elementwise <div> (%sum, %total) : (tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.replicated>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}
