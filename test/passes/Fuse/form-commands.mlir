// Groups of ops become commands; yielded values are accumulated in place; equal kernels are shared.
// RUN: accum-opt %s -accum-form-commands=mode=reference | FileCheck %s --check-prefixes=CHECK,REF
// RUN: accum-opt %s -accum-form-commands=mode=fused | FileCheck %s --check-prefixes=CHECK,FUSED

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained

// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x8xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %loss, %sum_of_w = train.phase "micro" loop(%x: tensor<1x8xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<8x4xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
    // CHECK: %[[Y:.*]] = train.command @contract_1x4xf32(%{{.*}}, %{{.*}}) {{.*}}flops = #train.poly<0, 64>, id = 0 : i64, library = "gemm"}
    %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
    // REF: train.command @exp_1x4xf32(%[[Y]])
    // REF: train.command @neg_1x4xf32
    // FUSED: train.command @exp_neg_reduce_1x4xf32(%[[Y]]) {{.*}} -> (tensor<1x4xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
    %e = nn.elementwise <exp> (%y) : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %n = nn.elementwise <neg> (%e) : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
    %r = nn.reduce <sum> (%n) {axes = array<i64: 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
    // CHECK: train.command @reduce_f32(%{{.*}}) {accumulate = array<i64: 0>
    %l = nn.reduce <sum> (%r) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // The same body, the same kernel.
    // CHECK: train.command @contract_8x4xf32(%{{.*}}, %{{.*}}) {accumulate = array<i64: 0>
    // CHECK: train.command @contract_8x4xf32(%{{.*}}, %{{.*}}) {accumulate = array<i64: 0>
    %a = nn.contract "bk,bn->kn" (%x, %n) : (tensor<1x8xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<8x4xf32, #nn.partial<sum>>
    %b = nn.contract "bk,bn->kn" (%x, %e) : (tensor<1x8xf32, #nn.batched<0>>, tensor<1x4xf32, #nn.batched<0>>) -> tensor<8x4xf32, #nn.partial<sum>>
    train.yield %l, %a, %b : tensor<f32, #nn.partial<sum>>, tensor<8x4xf32, #nn.partial<sum>>, tensor<8x4xf32, #nn.partial<sum>> to ["loss", @w, @w]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %g: tensor<8x4xf32, #nn.replicated> = %sum_of_w) {
    // One row of 256 bytes holds all that is trained.
    // CHECK: %[[DECAY:.*]] = train.load_decay : tensor<2xf64, #nn.replicated>
    // CHECK: %[[P:.*]] = train.load_slot "parameter" : tensor<1x64xf32, #nn.replicated>
    // CHECK: %[[G:.*]] = train.load_slot "gradient" : tensor<1x64xf32, #nn.replicated>
    // CHECK: %[[NEW:.*]] = train.command @sgd_1x64xf32(%{{.*}}, %[[DECAY]], %[[P]], %[[G]]) {{.*}}may_alias = [array<i64: 0, 2>]
    // CHECK: train.store %[[NEW]] "parameter" : tensor<1x64xf32, #nn.replicated>
    train.update "sgd" @w, %g, %hyper : tensor<8x4xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}
