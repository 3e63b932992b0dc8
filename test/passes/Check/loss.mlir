// What may be a loss, and what is reported.
// RUN: accum-opt %s -accum-check-placement -split-input-file -verify-diagnostics

func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  // expected-error @+2 {{the loss does not depend on the batch [no-loss]}}
  // expected-note @+1 {{name another output: --loss OUTPUT}}
  %0 = nn.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>> {
  // expected-error @+2 {{the loss has one value per sample, expected a scalar [no-loss]}}
  // expected-note @+1 {{reduce it in the model: loss.mean(), or loss.sum()}}
  %0 = nn.reduce <sum> (%x) {axes = array<i64: 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1xf32, #nn.extent<0>>
  return %0 : tensor<1xf32, #nn.extent<0>>
}

// -----

// Perplexity as the loss.
train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %0 = nn.contract "bk,k->b" (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 0>} : (tensor<1xf32, #nn.extent<0>>) -> tensor<f32>
  %n = nn.batch_size : tensor<i64>
  %f = nn.cast %n : tensor<i64> -> tensor<f32>
  %2 = nn.elementwise <div> (%1, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // expected-error @+3 {{applies `exp` to a sum over the samples, of which a micro-step has only its own terms [cross-batch]}}
  // expected-note @+2 {{the sum over the batch is taken by nn.reduce}}
  // expected-note @+1 {{the sum is complete only after the last micro-step: apply the function to each sample, or to the reported loss}}
  %3 = nn.elementwise <exp> (%2) : (tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Two causes; what follows from the first is silent, and so is dead code.
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>, %y: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  // expected-error @+2 {{takes the softmax over the batch axis 0 of [N, 4], so that every sample's result depends on all others [cross-batch]}}
  // expected-note @+1 {{work within a sample}}
  %0 = nn.softmax(%x) {axis = 0 : i64} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  // expected-error @+2 {{takes the maximum over the batch axis 0 of [N, 4]}}
  // expected-note @+1 {{work within a sample}}
  %1 = nn.reduce <max> (%y) {axes = array<i64: 0>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<4xf32>
  %2 = nn.elementwise <sub> (%0, %1) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %3 = nn.softmax(%2) {axis = 0 : i64} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %4 = nn.reduce <sum> (%3) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  %dead = nn.cumsum(%y) {axis = 0 : i64} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  return %4 : tensor<f32>
}

// -----

// expected-error @+2 {{input `table` has no batch axis [unsupported]}}
// expected-note @+1 {{every input holds one entry per sample; make a constant table an initializer}}
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>, %t: tensor<4xf32> {train.name = "table"}) -> tensor<f32> {
  %0 = nn.elementwise <add> (%x, %t) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %1 = nn.reduce <sum> (%0) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{@forward does not return a loss [no-loss]}}
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) {
  return
}

// -----

// A sum is never an input.
// expected-error @+2 {{input `0` has no batch axis [unsupported]}}
// expected-note @+1 {{every input holds one entry per sample}}
func.func @forward(%x: tensor<f32, #nn.partial<sum>>) -> tensor<f32> {
  %0 = nn.elementwise <exp> (%x) : (tensor<f32, #nn.partial<sum>>) -> tensor<f32>
  return %0 : tensor<f32>
}
