// Row kernels add up tiles of rows for the column sums of what they write or read.
// RUN: accum-opt %s -accum-form-commands="mode=fused tiles=true" -accum-verify-placement -split-input-file | FileCheck %s
// RUN: accum-opt %s -accum-form-commands="mode=fused tiles=true" -accum-narrow-floats -accum-verify-placement -split-input-file | FileCheck %s --check-prefix=BF16
// RUN: accum-opt %s -accum-form-commands=mode=fused -split-input-file | FileCheck %s --check-prefix=APART

train.param @w : tensor<64x64xf32> from <"m.onnx", 0, 16384, 0> trained
train.param @b : tensor<64xf32> from <"m.onnx", 16384, 256, 0> trained
train.param @c : tensor<64xf32> from <"m.onnx", 16640, 256, 0> trained

// A cotangent that is written, seen in another shape by its sum, and one that is read. The sums are f32.
// CHECK-LABEL: train.step @step
// CHECK: %[[D:.*]]:3 = train.command @[[KERNEL:.*]](%{{[^:]*}}) {{.*}}may_alias = [array<i64: 0, 0>, array<i64: 0, 1>]} : {{.*}} -> (tensor<1x24x64xf32, #nn.batched<0>>, tensor<1x1x64xf32, #nn.batched<0>>, tensor<1x1x64xf32, #nn.batched<0>>)
// CHECK-DAG: train.command @reduce_64xf32(%[[D]]#1) {accumulate
// CHECK-DAG: train.command @reduce_64xf32(%[[D]]#2) {accumulate
// CHECK: func.func private @[[KERNEL]](
// CHECK: nn.reshape %{{.*}} : tensor<1x24x64xf32, #nn.batched<0>> -> tensor<1x1x24x64xf32, #nn.batched<0>>
// BF16: train.command @{{.*}} -> (tensor<1x24x64xbf16, #nn.batched<0>>, tensor<1x1x64xf32, #nn.batched<0>>, tensor<1x1x64xf32, #nn.batched<0>>)
// APART-LABEL: train.step @step
// APART: train.command @reduce_64xf32(%{{.*}}tensor<24x64xf32
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<1x24x64xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %sum_of_w, %sum_of_b, %sum_of_c = train.phase "micro" loop(%x: tensor<1x24x64xf32, #nn.batched<0>> = %x) -> (tensor<64x64xf32, #nn.replicated>, tensor<64xf32, #nn.replicated>, tensor<64xf32, #nn.replicated>) {
    %w = train.load_param @w : tensor<64x64xf32, #nn.replicated>
    %h = nn.contract "bsk,kn->bsn" (%x, %w) : (tensor<1x24x64xf32, #nn.batched<0>>, tensor<64x64xf32, #nn.replicated>) -> tensor<1x24x64xf32, #nn.batched<0>>
    %dy = nn.contract "bsk,nk->bsn" (%h, %w) : (tensor<1x24x64xf32, #nn.batched<0>>, tensor<64x64xf32, #nn.replicated>) -> tensor<1x24x64xf32, #nn.batched<0>>
    %g = nn.elementwise <gelu_grad> (%h) : (tensor<1x24x64xf32, #nn.batched<0>>) -> tensor<1x24x64xf32, #nn.batched<0>>
    %d = nn.elementwise <mul> (%dy, %g) : (tensor<1x24x64xf32, #nn.batched<0>>, tensor<1x24x64xf32, #nn.batched<0>>) -> tensor<1x24x64xf32, #nn.batched<0>>
    %v = nn.reshape %d : tensor<1x24x64xf32, #nn.batched<0>> -> tensor<24x64xf32, #nn.batched<0>>
    %xv = nn.reshape %x : tensor<1x24x64xf32, #nn.batched<0>> -> tensor<24x64xf32, #nn.batched<0>>
    %dw = nn.contract "mk,mn->kn" (%xv, %v) : (tensor<24x64xf32, #nn.batched<0>>, tensor<24x64xf32, #nn.batched<0>>) -> tensor<64x64xf32, #nn.partial<sum>>
    %db = nn.reduce <sum> (%v) {axes = array<i64: 0>} : (tensor<24x64xf32, #nn.batched<0>>) -> tensor<64xf32, #nn.partial<sum>>
    %m = nn.elementwise <mul> (%dy, %h) : (tensor<1x24x64xf32, #nn.batched<0>>, tensor<1x24x64xf32, #nn.batched<0>>) -> tensor<1x24x64xf32, #nn.batched<0>>
    %dc = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x24x64xf32, #nn.batched<0>>) -> tensor<64xf32, #nn.partial<sum>>
    train.yield %dw, %db, %dc : tensor<64x64xf32, #nn.partial<sum>>, tensor<64xf32, #nn.partial<sum>>, tensor<64xf32, #nn.partial<sum>> to [@w, @b, @c]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gw: tensor<64x64xf32, #nn.replicated> = %sum_of_w, %gb: tensor<64xf32, #nn.replicated> = %sum_of_b, %gc: tensor<64xf32, #nn.replicated> = %sum_of_c) {
    train.update "sgd" @w, %gw, %hyper : tensor<64x64xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.update "sgd" @b, %gb, %hyper : tensor<64xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.update "sgd" @c, %gc, %hyper : tensor<64xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}

// -----

// Rows that no tile cuts, and a sum that reads what its writer does not have.
// CHECK-LABEL: train.step @apart
// CHECK: train.command @reduce_64xf32{{.*}}tensor<67x64xf32
// CHECK: train.command @mul_reduce_64xf32{{.*}}tensor<24x64xf32, #nn.batched<0>>, tensor<24x64xf32
train.param @p : tensor<64xf32> from <"m.onnx", 0, 256, 0> trained
train.param @q : tensor<64xf32> from <"m.onnx", 256, 256, 0> trained
train.step @apart inputs [{name = "x"}, {name = "y"}, {name = "z"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}, {name = "hyper"}] {
^bb0(%x: tensor<67x64xf32, #nn.batched<0>>, %y: tensor<24x64xf32, #nn.batched<0>>, %z: tensor<24x64xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>, %hyper: tensor<8xf64, #nn.replicated>):
  %sum_of_p, %sum_of_q = train.phase "micro" loop(%x: tensor<67x64xf32, #nn.batched<0>> = %x, %y: tensor<24x64xf32, #nn.batched<0>> = %y, %z: tensor<24x64xf32, #nn.batched<0>> = %z) -> (tensor<64xf32, #nn.replicated>, tensor<64xf32, #nn.replicated>) {
    %a = nn.elementwise <exp> (%x) : (tensor<67x64xf32, #nn.batched<0>>) -> tensor<67x64xf32, #nn.batched<0>>
    %t = nn.transpose %a [1, 0] : tensor<67x64xf32, #nn.batched<0>> -> tensor<64x67xf32, #nn.batched<1>>
    %ta = nn.reduce <sum> (%t) {axes = array<i64: 1>} : (tensor<64x67xf32, #nn.batched<1>>) -> tensor<64xf32, #nn.partial<sum>>
    %da = nn.reduce <sum> (%a) {axes = array<i64: 0>} : (tensor<67x64xf32, #nn.batched<0>>) -> tensor<64xf32, #nn.partial<sum>>
    %both = nn.elementwise <add> (%ta, %da) : (tensor<64xf32, #nn.partial<sum>>, tensor<64xf32, #nn.partial<sum>>) -> tensor<64xf32, #nn.partial<sum>>
    %e = nn.elementwise <exp> (%y) : (tensor<24x64xf32, #nn.batched<0>>) -> tensor<24x64xf32, #nn.batched<0>>
    %et = nn.transpose %e [1, 0] : tensor<24x64xf32, #nn.batched<0>> -> tensor<64x24xf32, #nn.batched<1>>
    %te = nn.reduce <sum> (%et) {axes = array<i64: 1>} : (tensor<64x24xf32, #nn.batched<1>>) -> tensor<64xf32, #nn.partial<sum>>
    %m = nn.elementwise <mul> (%e, %z) : (tensor<24x64xf32, #nn.batched<0>>, tensor<24x64xf32, #nn.batched<0>>) -> tensor<24x64xf32, #nn.batched<0>>
    %de = nn.reduce <sum> (%m) {axes = array<i64: 0>} : (tensor<24x64xf32, #nn.batched<0>>) -> tensor<64xf32, #nn.partial<sum>>
    %other = nn.elementwise <add> (%te, %de) : (tensor<64xf32, #nn.partial<sum>>, tensor<64xf32, #nn.partial<sum>>) -> tensor<64xf32, #nn.partial<sum>>
    train.yield %both, %other : tensor<64xf32, #nn.partial<sum>>, tensor<64xf32, #nn.partial<sum>> to [@p, @q]
  }
  train.phase "update" once(%hyper: tensor<8xf64, #nn.replicated> = %hyper, %gp: tensor<64xf32, #nn.replicated> = %sum_of_p, %gq: tensor<64xf32, #nn.replicated> = %sum_of_q) {
    train.update "sgd" @p, %gp, %hyper : tensor<64xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.update "sgd" @q, %gq, %hyper : tensor<64xf32, #nn.replicated>, tensor<8xf64, #nn.replicated>
    train.yield
  }
}
