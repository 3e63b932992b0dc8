// An op without a derivative is refused by name, but only between a trained parameter and the loss.
// RUN: accum-opt %s -accum-differentiate=optimizer=sgd -split-input-file -verify-diagnostics

train.param @w : tensor<4xf32> from <"m.onnx", 0, 16, 0> trained

func.func @forward(%x: tensor<1x4xf32, #nn.batched<0>> {train.name = "x"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<4xf32, #nn.replicated>
  %y = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{nn.top_k on the path from a trained parameter to the loss has no derivative [unsupported-derivative]}}
  %top:2 = nn.top_k(%y) {axis = 1 : i64, k = 2 : i64} : (tensor<1x4xf32, #nn.batched<0>>) -> (tensor<1x2xf32, #nn.batched<0>>, tensor<1x2xi64, #nn.batched<0>>)
  %m = nn.mask_rows(%top#0, %valid) {dim = 0 : i64} : (tensor<1x2xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x2xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x2xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}

// -----

train.param @w : tensor<2xf32> from <"m.onnx", 0, 8, 0> trained

func.func @forward(%x: tensor<1x4xf32, #nn.batched<0>> {train.name = "x"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<2xf32, #nn.replicated>
  %top:2 = nn.top_k(%x) {axis = 1 : i64, k = 2 : i64} : (tensor<1x4xf32, #nn.batched<0>>) -> (tensor<1x2xf32, #nn.batched<0>>, tensor<1x2xi64, #nn.batched<0>>)
  %y = nn.elementwise <mul> (%top#0, %w) : (tensor<1x2xf32, #nn.batched<0>>, tensor<2xf32, #nn.replicated>) -> tensor<1x2xf32, #nn.batched<0>>
  %m = nn.mask_rows(%y, %valid) {dim = 0 : i64} : (tensor<1x2xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1x2xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : (tensor<1x2xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}
