// A chain is computed again up to four ops of it, each of them once.
// RUN: accum-opt %s -accum-repeat-elementwise -accum-verify-placement | FileCheck %s

train.param @w : tensor<1x4xf32> from <"m.onnx", 0, 16, 0>
train.param @v : tensor<4x4xf32> from <"m.onnx", 16, 64, 0> trained

// CHECK-LABEL: train.step @same_for_all_samples
train.step @same_for_all_samples inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<4x4xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_v = train.phase "micro" loop(%x: tensor<4x4xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<4x4xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<1x4xf32, #nn.replicated>
    %a = nn.elementwise <mul> (%w, %w) : (tensor<1x4xf32, #nn.replicated>, tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %b = nn.elementwise <mul> (%a, %a) : (tensor<1x4xf32, #nn.replicated>, tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    // CHECK: %[[C:.*]] = nn.elementwise <tanh>
    %c = nn.elementwise <tanh> (%b) : (tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %d = nn.elementwise <tanh> (%c) : (tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %e = nn.elementwise <mul> (%d, %d) : (tensor<1x4xf32, #nn.replicated>, tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %f = nn.elementwise <tanh> (%e) : (tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %g = nn.elementwise <tanh> (%f) : (tensor<1x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.replicated>
    %y = nn.elementwise <mul> (%x, %g) : (tensor<4x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.replicated>) -> tensor<4x4xf32, #nn.batched<0>>
    // CHECK: %[[LOSS:.*]] = nn.reduce <sum>
    %loss = nn.reduce <sum> (%y) {axes = array<i64: 0, 1>} : (tensor<4x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK-NEXT: %[[D:.*]] = nn.elementwise <tanh> (%[[C]])
    // CHECK-NEXT: %[[E:.*]] = nn.elementwise <mul> (%[[D]], %[[D]])
    // CHECK-NEXT: %[[F:.*]] = nn.elementwise <tanh> (%[[E]])
    // CHECK-NEXT: %[[G:.*]] = nn.elementwise <tanh> (%[[F]])
    // CHECK-NEXT: nn.elementwise <mul> (%{{.*}}, %[[G]])
    %dy = nn.elementwise <mul> (%x, %g) : (tensor<4x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.replicated>) -> tensor<4x4xf32, #nn.batched<0>>
    %dv = nn.contract "bk,bn->kn" (%x, %dy) : (tensor<4x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.batched<0>>) -> tensor<4x4xf32, #nn.partial<sum>>
    train.yield %loss, %dv : tensor<f32, #nn.partial<sum>>, tensor<4x4xf32, #nn.partial<sum>> to ["loss", @v]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gv: tensor<4x4xf32, #nn.replicated> = %sum_of_v) {
    train.update "sgd" @v, %gv, %hyper : tensor<4x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}

// A batch that is not cut is not the same for all samples: the product would have to be kept.
// CHECK-LABEL: train.step @whole
train.step @whole inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<4x4xf32, #nn.whole>, %valid: tensor<4xi1, #nn.whole>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_v = train.phase "micro" loop(%x: tensor<4x4xf32, #nn.whole> = %x) -> (tensor<f32, #nn.replicated>, tensor<4x4xf32, #nn.replicated>) {
    %v = train.load_param @v : tensor<4x4xf32, #nn.replicated>
    %a = nn.contract "bk,kn->bn" (%x, %v) : (tensor<4x4xf32, #nn.whole>, tensor<4x4xf32, #nn.replicated>) -> tensor<4x4xf32, #nn.whole>
    // CHECK: %[[S:.*]] = nn.elementwise <tanh>
    // CHECK-NOT: nn.elementwise <tanh>
    // CHECK: nn.elementwise <mul> (%{{.*}}, %[[S]])
    %s = nn.elementwise <tanh> (%a) : (tensor<4x4xf32, #nn.whole>) -> tensor<4x4xf32, #nn.whole>
    %loss = nn.reduce <sum> (%s) {axes = array<i64: 0, 1>} : (tensor<4x4xf32, #nn.whole>) -> tensor<f32, #nn.whole>
    %ds = nn.elementwise <mul> (%x, %s) : (tensor<4x4xf32, #nn.whole>, tensor<4x4xf32, #nn.whole>) -> tensor<4x4xf32, #nn.whole>
    %dv = nn.contract "bk,bn->kn" (%x, %ds) : (tensor<4x4xf32, #nn.whole>, tensor<4x4xf32, #nn.whole>) -> tensor<4x4xf32, #nn.whole>
    train.yield %loss, %dv : tensor<f32, #nn.whole>, tensor<4x4xf32, #nn.whole> to ["loss", @v]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gv: tensor<4x4xf32, #nn.replicated> = %sum_of_v) {
    train.update "sgd" @v, %gv, %hyper : tensor<4x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}
