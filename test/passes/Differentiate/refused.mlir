// An op without a derivative is refused by name, but only between a trained parameter and the loss.
// RUN: accum-opt %s -accum-differentiate=optimizer=sgd -split-input-file -verify-diagnostics

train.param @w : tensor<4xf32> from <"m.onnx", 0, 16, 0> trained

func.func @forward(%x: tensor<1x4xf32, #nn.batched<0>> {train.name = "x"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<4xf32, #nn.replicated>
  %y = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{nn.elementwise on the path from a trained parameter to the loss has no derivative [unsupported-derivative]}}
  %top = nn.elementwise <gelu_grad> (%y) : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %m = nn.mask_rows(%top, %valid) {dim = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}

// -----

train.param @w : tensor<4xf32> from <"m.onnx", 0, 16, 0> trained

func.func @forward(%x: tensor<1x4xf32, #nn.batched<0>> {train.name = "x"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<4xf32, #nn.replicated>
  %top = nn.elementwise <gelu_grad> (%x) : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %y = nn.elementwise <mul> (%top, %w) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  %m = nn.mask_rows(%y, %valid) {dim = 0 : i64} : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x4xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}
