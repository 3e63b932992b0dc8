// Activations whose operands are there in the backward pass are computed there again.
// RUN: accum-opt %s -accum-repeat-elementwise -accum-verify-placement | FileCheck %s

train.param @w : tensor<4x4xf32> from <"m.onnx", 0, 64, 0> trained

// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<3x4xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<3x4xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<4x4xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<4x4xf32, #nn.replicated>
    // CHECK: %[[GATE:.*]] = nn.contract
    // CHECK: %[[UP:.*]] = nn.contract
    // CHECK: %[[OTHER:.*]] = nn.contract
    %gate = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %up = nn.contract "bk,nk->bn" (%x, %w) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %other = nn.contract "bk,kn->bn" (%up, %w) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    // CHECK: %[[S:.*]] = nn.elementwise <silu> (%[[GATE]])
    %s = nn.elementwise <silu> (%gate) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    // CHECK: %[[P:.*]] = nn.elementwise <mul> (%[[S]], %[[UP]])
    %p = nn.elementwise <mul> (%s, %up) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    // Of what only the forward part reads, and of a function that costs more than memory.
    // CHECK: %[[T:.*]] = nn.elementwise <tanh> (%[[OTHER]])
    // CHECK: %[[E:.*]] = nn.elementwise <exp> (%[[GATE]])
    %t = nn.elementwise <tanh> (%other) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %e = nn.elementwise <exp> (%gate) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %y = nn.contract "bk,kn->bn" (%p, %w) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %yt = nn.elementwise <mul> (%y, %t) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %ye = nn.elementwise <mul> (%yt, %e) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    // CHECK: %[[LOSS:.*]] = nn.reduce <sum>
    %loss = nn.reduce <sum> (%ye) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK: %[[AGAIN:.*]] = nn.elementwise <silu> (%[[GATE]])
    // CHECK: %[[DU:.*]] = nn.elementwise <mul> (%[[UP]], %[[AGAIN]])
    %du = nn.elementwise <mul> (%up, %s) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %g = nn.elementwise <silu_grad> (%gate) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    // A chain of them.
    // CHECK: %[[S2:.*]] = nn.elementwise <silu> (%[[GATE]])
    // CHECK: %[[P2:.*]] = nn.elementwise <mul> (%[[S2]], %[[UP]])
    // CHECK: nn.elementwise <mul> (%{{.*}}, %[[P2]])
    %dg = nn.elementwise <mul> (%g, %p) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    // CHECK: nn.elementwise <mul> (%{{.*}}, %[[T]])
    // CHECK: nn.elementwise <mul> (%{{.*}}, %[[E]])
    %dt = nn.elementwise <mul> (%dg, %t) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %de = nn.elementwise <mul> (%dt, %e) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %dw = nn.contract "bk,bn->kn" (%du, %de) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<4x4xf32, #nn.partial<sum>>
    train.yield %loss, %dw : tensor<f32, #nn.partial<sum>>, tensor<4x4xf32, #nn.partial<sum>> to ["loss", @w]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gw: tensor<4x4xf32, #nn.replicated> = %sum_of_w) {
    train.update "sgd" @w, %gw, %hyper : tensor<4x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}

// What a product reads in the backward pass is in memory: it stays.
// CHECK-LABEL: train.step @read_by_products
train.step @read_by_products inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<3x4xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<3x4xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<4x4xf32, #nn.replicated>) {
    // CHECK: nn.elementwise <silu>
    // CHECK-NOT: nn.elementwise <silu>
    // CHECK: update
    %s = nn.elementwise <silu> (%x) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %loss = nn.reduce <sum> (%s) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    %d = nn.elementwise <mul> (%s, %s) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %dw = nn.contract "bk,bn->kn" (%s, %d) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<4x4xf32, #nn.partial<sum>>
    train.yield %loss, %dw : tensor<f32, #nn.partial<sum>>, tensor<4x4xf32, #nn.partial<sum>> to ["loss", @w]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gw: tensor<4x4xf32, #nn.replicated> = %sum_of_w) {
    train.update "sgd" @w, %gw, %hyper : tensor<4x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}
