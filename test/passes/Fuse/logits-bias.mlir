// Logits are written with their bias: the loss goes through them several times, and would add it each time. Another bias is added
// by the kernel behind.
// RUN: accum-opt %s -accum-form-commands=mode=fused | FileCheck %s

train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained
train.param @b : tensor<4xf32> from <"m.onnx", 128, 16, 0> trained

// CHECK-LABEL: train.step @step
train.step @step inputs [{name = "x"}, {name = "labels"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}] {
^bb0(%x: tensor<3x8xf32, #nn.batched<0>>, %labels: tensor<1x3xi64, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, %row: tensor<i64, #nn.replicated>, %rng: tensor<2xi64, #nn.replicated>):
  %a, %b = train.phase "micro" loop(%x: tensor<3x8xf32, #nn.batched<0>> = %x, %labels: tensor<1x3xi64, #nn.batched<0>> = %labels) -> (tensor<f32, #nn.replicated>, tensor<f32, #nn.replicated>) {
    %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
    %b = train.load_param @b : tensor<4xf32, #nn.replicated>
    // CHECK: %[[LOGITS:.*]] = train.command @contract_add_1x3x4xf32({{.*}}library = "gemm"}
    %y = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %v = nn.reshape %y : tensor<3x4xf32, #nn.batched<0>> -> tensor<1x3x4xf32, #nn.batched<0>>
    %s = nn.elementwise <add> (%v, %b) : (tensor<1x3x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<1x3x4xf32, #nn.batched<0>>
    // CHECK: train.command @cross_entropy_{{[^(]*}}(%[[LOGITS]],
    %loss, %lse = nn.cross_entropy(%s, %labels) : (tensor<1x3x4xf32, #nn.batched<0>>, tensor<1x3xi64, #nn.batched<0>>) -> (tensor<1x3xf32, #nn.batched<0>>, tensor<1x3xf32, #nn.batched<0>>)
    %l = nn.reduce <sum> (%loss) {axes = array<i64: 0, 1>} : (tensor<1x3xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    // CHECK-NOT: @contract_add
    // CHECK: train.command @contract_3x4xf32(
    %r = nn.contract "bk,kn->bn" (%x, %w) : (tensor<3x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %rb = nn.elementwise <add> (%r, %b) : (tensor<3x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
    %rg = nn.elementwise <gelu_tanh> (%rb) : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<3x4xf32, #nn.batched<0>>
    %rl = nn.reduce <sum> (%rg) {axes = array<i64: 0, 1>} : (tensor<3x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
    train.yield %l, %rl : tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>> to ["a", "b"]
  }
}
