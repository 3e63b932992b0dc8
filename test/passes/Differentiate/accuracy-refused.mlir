// Losses whose rows count other than by one each, or of which there are several: no count of right ones beside them.
// RUN: accum-opt %s "-accum-differentiate=optimizer=sgd accuracy=true" -split-input-file -verify-diagnostics

// Rows that are weighted, as by class.
train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained

func.func @forward(%x: tensor<1x8xf32, #nn.batched<0>> {train.name = "x"}, %y: tensor<1xi64, #nn.batched<0>> {train.name = "y"},
                   %weight: tensor<1xf32, #nn.batched<0>> {train.name = "weight"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{--metric accuracy: the loss weighs the rows of its cross-entropy, by class or by position: what a target counts is not known [no-metric]}}
  %l, %lse = nn.cross_entropy(%z, %y) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi64, #nn.batched<0>>) -> (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
  %s = nn.elementwise <mul> (%l, %weight) : (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %m = nn.mask_rows(%s, %valid) {dim = 0 : i64} : (tensor<1xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}

// -----

// Rows that are used twice.
train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained

func.func @forward(%x: tensor<1x8xf32, #nn.batched<0>> {train.name = "x"}, %y: tensor<1xi64, #nn.batched<0>> {train.name = "y"},
                   %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{what a target counts is not known [no-metric]}}
  %l, %lse = nn.cross_entropy(%z, %y) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi64, #nn.batched<0>>) -> (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
  %n = nn.elementwise <neg> (%l) : (tensor<1xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %p = nn.elementwise <exp> (%n) : (tensor<1xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %s = nn.elementwise <mul> (%l, %p) : (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %m = nn.mask_rows(%s, %valid) {dim = 0 : i64} : (tensor<1xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}

// -----

// Two, as of a start and an end.
train.param @w : tensor<8x4xf32> from <"m.onnx", 0, 128, 0> trained

func.func @forward(%x: tensor<1x8xf32, #nn.batched<0>> {train.name = "x"}, %y: tensor<1xi64, #nn.batched<0>> {train.name = "start"},
                   %e: tensor<1xi64, #nn.batched<0>> {train.name = "end"}, %valid: tensor<1xi1, #nn.batched<0>> {train.name = "valid"},
                   %row: tensor<i64, #nn.replicated> {train.name = "first_row"}) -> tensor<f32, #nn.partial<sum>> {
  %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
  %z = nn.contract "bk,kn->bn" (%x, %w) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x4xf32, #nn.replicated>) -> tensor<1x4xf32, #nn.batched<0>>
  // expected-error @+1 {{--metric accuracy: the loss has 2 cross-entropies, and each has labels of its own [no-metric]}}
  %l, %lse = nn.cross_entropy(%z, %y) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi64, #nn.batched<0>>) -> (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
  %k, %lke = nn.cross_entropy(%z, %e) : (tensor<1x4xf32, #nn.batched<0>>, tensor<1xi64, #nn.batched<0>>) -> (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>)
  %s = nn.elementwise <add> (%l, %k) : (tensor<1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %m = nn.mask_rows(%s, %valid) {dim = 0 : i64} : (tensor<1xf32, #nn.batched<0>>, tensor<1xi1, #nn.batched<0>>) -> tensor<1xf32, #nn.batched<0>>
  %loss = nn.reduce <sum> (%m) {axes = array<i64: 0>} : (tensor<1xf32, #nn.batched<0>>) -> tensor<f32, #nn.partial<sum>>
  return %loss : tensor<f32, #nn.partial<sum>>
}
