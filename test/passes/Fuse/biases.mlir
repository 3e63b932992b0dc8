// Products are written with the bias that is added to their rows, where that spares writing them bare.
// RUN: accum-opt %s -accum-form-commands="mode=fused biases=true" | FileCheck %s
// RUN: accum-opt %s -accum-form-commands=mode=fused | FileCheck %s --check-prefix=BARE
// RUN: accum-opt %s -accum-form-commands="mode=fused biases=true" -accum-narrow-floats -accum-verify-placement | FileCheck %s --check-prefix=BF16

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained
train.param @b : tensor<4xf32> from <"m.onnx", 128, 16, 0> trained

// BARE-NOT: @contract_add
// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}] {
^bb0(%x: tensor<3x8xf32, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>):
  %a, %b, %c, %d, %e = train.phase "micro" loop(%x: tensor<3x8xf32, #nn.batched<0>> = %x) -> (tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>) {
    %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
    %b = train.load_param @b : tensor<4xf32, #nn.replicated>
    // CHECK: %[[PRE:.*]] = train.command @contract_add_3x4xf32(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}}library = "gemm"}
    // BF16: train.command @contract_add_3x4xbf16({{.*}} : (tensor<3x8xbf16, #nn.batched<0>>, tensor<8x4xbf16, #nn.replicated>, tensor<4xbf16, #nn.replicated>) -> tensor<3x4xbf16, #nn.batched<0>>
    %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %s = nn.elementwise <add> (%y, %b) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %g = nn.elementwise <gelu_tanh> (%s) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %gl = nn.reduce <sum> (%g) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // Seen in another shape on the way, and the bias first.
    // CHECK: train.command @contract_add_1x3x4xf32({{.*}}library = "gemm"} {{.*}} -> tensor<1x3x4xf32, #nn.batched<0>>
    // BF16: train.command @contract_add_1x3x4xbf16(
    %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %zv = nn.reshape %z : tensor<3x4xf32, #nn.batched<0>> -> tensor<1x3x4xf32, #nn.batched<0>>
    %zs = nn.elementwise <add> (%b, %zv) : (tensor<4xf32, #nn.replicated>, tensor<1x3x4xf32, #nn.batched<0>>) -> tensor<1x3x4xf32, #nn.batched<0>>
    %zt = nn.transpose %zs [0, 2, 1] : tensor<1x3x4xf32, #nn.batched<0>> -> tensor<1x4x3xf32, #nn.batched<0>>
    %zl = nn.reduce <sum> (%zt) {axes = array<i64: 0, 1, 2>} : (tensor<1x4x3xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // The kernel of a residual reads product and bias.
    // CHECK: %[[R:.*]] = train.command @contract_3x4xf32(
    %r = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %rb = nn.elementwise <add> (%r, %b) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %rs = nn.elementwise <add> (%rb, %g) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %rl = nn.reduce <sum> (%rs) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // Somebody needs the bare product; and what is added is no parameter.
    // CHECK: train.command @contract_3x4xf32(
    // CHECK: train.command @add_mul_3x4xf32
    // CHECK: train.command @contract_3x4xf32(
    // CHECK: train.command @gelu_tanh_add_x2_exp_3x4xf32(%[[PRE]], %[[R]],
    // CHECK-NOT: @contract_add
    // CHECK: train.yield
    %t = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %ts = nn.elementwise <add> (%t, %b) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %tm = nn.elementwise <mul> (%t, %ts) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %tl = nn.reduce <sum> (%tm) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    %u = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %us = nn.elementwise <add> (%u, %g) : (tensor<3x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %ue = nn.elementwise <exp> (%us) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %ul = nn.reduce <sum> (%ue) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    train.yield %gl, %zl, %rl, %tl, %ul : tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>> to ["a", "b", "c", "d", "e"]
  }
}
