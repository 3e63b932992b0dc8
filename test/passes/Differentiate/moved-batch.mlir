// The batch axis moves and the slab keeps its shape: the derivative moves it back. [N, 3, 2] read as [1, 3N, 2].
// RUN: accum-opt %s -accum-differentiate=optimizer=sgd -accum-verify-placement | FileCheck %s

train.param @w : tensor<1x3x2xf32> from <"m.onnx", 0, 24, 0> trained
train.param @v : tensor<1x1x2xf32> from <"m.onnx", 24, 8, 0> trained

// CHECK-LABEL: train.step @step
// CHECK: train.phase "micro" loop
// CHECK: nn.reshape %{{.*}} : tensor<1x3x2xf32, #nn.batched<0>> -> tensor<1x3x2xf32, #nn.batched<1>>
// CHECK: nn.reshape %{{.*}} : tensor<1x3x2xf32, #nn.batched<1>> -> tensor<1x3x2xf32, #nn.batched<0>>
// CHECK: train.yield
func.func @forward(%x: tensor<1x3x2xf32, #nn.batched<0>> {train.name = "x"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<1x3x2xf32, #nn.replicated>
  %v = train.load_param @v : tensor<1x1x2xf32, #nn.replicated>
  %h = nn.elementwise <mul> (%x, %w) : (tensor<1x3x2xf32, #nn.batched<0>>, tensor<1x3x2xf32, #nn.replicated>) -> tensor<1x3x2xf32, #nn.batched<0>>
  %p = nn.reshape %h : tensor<1x3x2xf32, #nn.batched<0>> -> tensor<1x3x2xf32, #nn.batched<1>>
  %q = nn.elementwise <mul> (%p, %v) : (tensor<1x3x2xf32, #nn.batched<1>>, tensor<1x1x2xf32, #nn.replicated>) -> tensor<1x3x2xf32, #nn.batched<1>>
  %m = nn.mask_rows(%q, %valid) {dim = 1 : i64} : (tensor<1x3x2xf32, #nn.batched<1>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x3x2xf32, #nn.batched<1>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0, 1, 2>} : (tensor<1x3x2xf32, #nn.batched<1>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}
