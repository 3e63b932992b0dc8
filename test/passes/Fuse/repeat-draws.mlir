// What is drawn in the forward part is drawn again where the backward part reads it, but for a number a sample.
// RUN: accum-opt %s -accum-repeat-draws -accum-verify-placement | FileCheck %s

train.param @w : tensor<4x4xf32> from <"m.onnx", 0, 64, 0> trained

// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x4xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<3xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<1x4xf32, #nn.batched<0>> = %x, %row: tensor<i64, #nn.replicated> = %row, %rng: tensor<3xi64, #nn.replicated> = %rng) -> (tensor<f32, #nn.replicated>, tensor<4x4xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<4x4xf32, #nn.replicated>
    %h = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
    // CHECK: %[[U:.*]] = nn.random <uniform>
    // CHECK: %[[S:.*]] = nn.elementwise <add> (%[[U]], %[[U]])
    // CHECK: %[[M:.*]] = nn.random <mask>
    %u = nn.random <uniform> (%rng, %row : tensor<3xi64, #nn.replicated>, tensor<i64, #nn.replicated>) {key = 1 : i64, dim = 0 : i64, outer = 1 : i64, rows = 1 : i64} : tensor<1x4xf32, #nn.batched<0>>
    %s = nn.elementwise <add> (%u, %u) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %m = nn.random <mask> (%rng, %row : tensor<3xi64, #nn.replicated>, tensor<i64, #nn.replicated>) {key = 2 : i64, ratio = 0.5 : f64, dim = 0 : i64, outer = 1 : i64, rows = 1 : i64} : tensor<1x1xf32, #nn.batched<0>>
    %hs = nn.elementwise <mul> (%h, %s) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %y = nn.elementwise <mul> (%hs, %m) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x1xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    // CHECK: %[[LOSS:.*]] = nn.reduce <sum>
    %loss = nn.reduce <sum> (%y) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK: %[[V:.*]] = nn.random <uniform> {{.*}}key = 1
    // CHECK: %[[T:.*]] = nn.elementwise <add> (%[[V]], %[[V]])
    // CHECK: %[[D:.*]] = nn.elementwise <mul> (%[[M]], %[[T]])
    %d = nn.elementwise <mul> (%m, %s) : (tensor<1x1xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    // CHECK: nn.contract "bk,bn->kn" (%{{.*}}, %[[D]])
    %g = nn.contract "bk,bn->kn" (%x, %d) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<4x4xf32, #nn.partial<sum>>
    train.yield %loss, %g : tensor<f32, #nn.partial<sum>>, tensor<4x4xf32, #nn.partial<sum>> to ["loss", @w]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gw: tensor<4x4xf32, #nn.replicated> = %sum_of_w) {
    train.update "sgd" @w, %gw, %hyper : tensor<4x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}
