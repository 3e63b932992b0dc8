// Placement rules of attention.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @samples
func.func @samples(%q: tensor<1x4x9x8xf32, #nn.batched<0>>, %k: tensor<1x2x9x8xf32, #nn.batched<0>>, %m: tensor<1x1x1x9xi1, #nn.batched<0>>, %t: tensor<1x1x9x9xf32, #nn.replicated>) {
  // A mask per sample, and one for all.
  // CHECK: -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  %0:2 = nn.attention(%q, %k, %k mask %m) <lowered> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x1x1x9xi1, #nn.batched<0>>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  // CHECK: -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  %1:2 = nn.attention(%q, %k, %k mask %t) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x1x9x9xf32, #nn.replicated>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  // CHECK: -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>)
  %2:3 = nn.attention_bwd(%q, %k, %k, %0#0, %0#1, %q mask %m) <lowered> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>, tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x1x1x9xi1, #nn.batched<0>>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>, tensor<1x2x9x8xf32, #nn.batched<0>>)
  return
}

// Heads beside the samples in one axis, as torch.bmm has them.
// CHECK-LABEL: @merged
func.func @merged(%q: tensor<4x1x9x8xf32, #nn.batched<0>>, %m: tensor<4x1x9x9xf32, #nn.batched<0>>) {
  // CHECK: -> (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9xf32, #nn.batched<0>>)
  %0:2 = nn.attention(%q, %q, %q mask %m) <infinite> {scale = 1.0 : f64} : (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x9xf32, #nn.batched<0>>) -> (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9xf32, #nn.batched<0>>)
  return
}

// What is the same for all samples; and its derivative is linear in the cotangent, a sum.
// CHECK-LABEL: @replicated
func.func @replicated(%q: tensor<3x4x9x8xf32, #nn.replicated>, %d: tensor<3x4x9x8xf32, #nn.partial<sum>>) {
  // CHECK: -> (tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9xf32, #nn.replicated>)
  %0:2 = nn.attention(%q, %q, %q) <infinite> causal {scale = 1.0 : f64} : (tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.replicated>) -> (tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9xf32, #nn.replicated>)
  // CHECK: -> (tensor<3x4x9x8xf32, #nn.partial<sum>>, tensor<3x4x9x8xf32, #nn.partial<sum>>, tensor<3x4x9x8xf32, #nn.partial<sum>>)
  %1:3 = nn.attention_bwd(%q, %q, %q, %0#0, %0#1, %d) <infinite> causal {scale = 1.0 : f64} : (tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.replicated>, tensor<3x4x9xf32, #nn.replicated>, tensor<3x4x9x8xf32, #nn.partial<sum>>) -> (tensor<3x4x9x8xf32, #nn.partial<sum>>, tensor<3x4x9x8xf32, #nn.partial<sum>>, tensor<3x4x9x8xf32, #nn.partial<sum>>)
  return
}

// -----

// Attention over the tokens of all samples.
func.func @tokens(%q: tensor<1x4x9x8xf32, #nn.batched<2>>) {
  // expected-error @+1 {{it attends with the batch along axis 2 of [1, 4, 9N, 8]}}
  %0:2 = nn.attention(%q, %q, %q) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<2>>, tensor<1x4x9x8xf32, #nn.batched<2>>, tensor<1x4x9x8xf32, #nn.batched<2>>) -> (tensor<1x4x9x8xf32, #nn.batched<2>>, tensor<1x4x9xf32, #nn.batched<2>>)
  return
}

// -----

func.func @orders(%q: tensor<4x1x9x8xf32, #nn.batched<0>>, %k: tensor<4x1x9x8xf32, #nn.batched<0, outer = 4>>) {
  // expected-error @+1 {{it attends from one sample to another: their orders differ}}
  %0:2 = nn.attention(%q, %k, %k) <infinite> {scale = 1.0 : f64} : (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0, outer = 4>>, tensor<4x1x9x8xf32, #nn.batched<0, outer = 4>>) -> (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9xf32, #nn.batched<0>>)
  return
}

// -----

func.func @baked_in(%q: tensor<1x4x9x8xf32, #nn.batched<0>>, %k: tensor<1x4x9x8xf32, #nn.replicated>, %p: tensor<1x4x9x8xf32, #nn.partial<sum>>) {
  // expected-error @+1 {{it attends between the batch and a value of fixed shape [1, 4, 9, 8]}}
  %0:2 = nn.attention(%q, %k, %k) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9x8xf32, #nn.replicated>, tensor<1x4x9x8xf32, #nn.replicated>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  // expected-error @+1 {{it uses a sum over all samples of the batch for each single sample}}
  %1:2 = nn.attention(%q, %q, %p) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9x8xf32, #nn.partial<sum>>) -> (tensor<1x4x9x8xf32, #nn.batched<0>>, tensor<1x4x9xf32, #nn.batched<0>>)
  // expected-error @+1 {{it applies a function that is not linear to a sum}}
  %2:2 = nn.attention(%k, %k, %p) <infinite> {scale = 1.0 : f64} : (tensor<1x4x9x8xf32, #nn.replicated>, tensor<1x4x9x8xf32, #nn.replicated>, tensor<1x4x9x8xf32, #nn.partial<sum>>) -> (tensor<1x4x9x8xf32, #nn.partial<sum>>, tensor<1x4x9xf32, #nn.partial<sum>>)
  return
}

// -----

func.func @masks(%q: tensor<4x1x9x8xf32, #nn.batched<0>>, %m: tensor<4x1x9x9xi1, #nn.batched<0, outer = 2>>, %f: tensor<4x1x9x9xi1, #nn.replicated>, %k: tensor<1x1x9x8xf32, #nn.replicated>, %b: tensor<1x1x1x9xi1, #nn.batched<0>>) {
  // expected-error @+1 {{it masks [4N, 1, 9, 8] by [4N, 1, 9, 9], whose samples lie otherwise}}
  %0:2 = nn.attention(%q, %q, %q mask %m) <lowered> {scale = 1.0 : f64} : (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x9xi1, #nn.batched<0, outer = 2>>) -> (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9xf32, #nn.batched<0>>)
  // expected-error @+1 {{it masks the batch by a value of fixed shape [4, 1, 9, 9]}}
  %1:2 = nn.attention(%q, %q, %q mask %f) <lowered> {scale = 1.0 : f64} : (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9x9xi1, #nn.replicated>) -> (tensor<4x1x9x8xf32, #nn.batched<0>>, tensor<4x1x9xf32, #nn.batched<0>>)
  // expected-error @+1 {{it masks a value that is the same for all samples by the batch}}
  %2:2 = nn.attention(%k, %k, %k mask %b) <lowered> {scale = 1.0 : f64} : (tensor<1x1x9x8xf32, #nn.replicated>, tensor<1x1x9x8xf32, #nn.replicated>, tensor<1x1x9x8xf32, #nn.replicated>, tensor<1x1x1x9xi1, #nn.batched<0>>) -> (tensor<1x1x9x8xf32, #nn.replicated>, tensor<1x1x9xf32, #nn.replicated>)
  return
}
