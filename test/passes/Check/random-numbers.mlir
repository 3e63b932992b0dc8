// What a sample draws is keyed by its place; without samples there is one draw for all. What only said where the samples are is no operand.
// RUN: accum-opt %s -split-input-file -phase-check -verify-diagnostics | FileCheck %s

train.param @w : tensor<4xf32> from #train.file<"m.onnx", 0, 16, 0> trained

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<4xf32>
  %h = nn.elementwise <mul> (%x, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  // CHECK: nn.random <normal> {dim = 0 : i64, key = 7 : i64, outer = 1 : i64, rows = 1 : i64} : tensor<1x4xf32, #nn.batched<0>>
  %n = nn.random <normal> like %h : tensor<1x4xf32, #nn.extent<0>> {key = 7 : i64} : tensor<1x4xf32, #nn.extent<0>>
  // CHECK: nn.random <mask> {dim = 0 : i64, key = 8 : i64, outer = 1 : i64, ratio = 2.000000e-01 : f64, rows = 1 : i64} : tensor<1x1xf32, #nn.batched<0>>
  %m = nn.random <mask> {key = 8 : i64, ratio = 0.2 : f64} : tensor<1x1xf32, #nn.extent<0>>
  // CHECK: nn.random <uniform> {key = 9 : i64} : tensor<1x1xf32, #nn.replicated>
  %u = nn.random <uniform> {key = 9 : i64} : tensor<1x1xf32>
  %0 = nn.elementwise <add> (%h, %n) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %1 = nn.elementwise <mul> (%0, %m) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x1xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %2 = nn.elementwise <mul> (%1, %u) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x1xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %loss = nn.reduce <sum> (%2) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

train.param @w : tensor<1x4xf32> from #train.file<"m.onnx", 0, 16, 0> trained

func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
  %w = train.load_param @w : tensor<1x4xf32>
  // expected-error @+2 {{draws numbers for every pair of samples [cross-batch]}}
  // expected-note @+1 {{a loss per sample compiles}}
  %u = nn.random <uniform> {key = 9 : i64} : tensor<1x1xf32, #nn.extent<0, 1>>
  %y = nn.contract "ij,jk->ik" (%u, %x) : (tensor<1x1xf32, #nn.extent<0, 1>>, tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
  %z = nn.elementwise <mul> (%y, %w) : (tensor<1x4xf32, #nn.extent<0>>, tensor<1x4xf32>) -> tensor<1x4xf32, #nn.extent<0>>
  %loss = nn.reduce <sum> (%z) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
  return %loss : tensor<f32>
}
