// Placement rules of constants and elementwise ops: one accepting and one rejecting case each.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @broadcast
func.func @broadcast(%x: tensor<1x4x8xf32, #nn.batched<0>>, %y: tensor<1x1x8xf32, #nn.batched<0>>, %b: tensor<8xf32, #nn.replicated>, %c: tensor<1x4x1xf32, #nn.replicated>) {
  // CHECK-COUNT-3: -> tensor<1x4x8xf32, #nn.batched<0>>
  %0 = nn.elementwise <add> (%x, %y) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<1x1x8xf32, #nn.batched<0>>) -> tensor<1x4x8xf32, #nn.batched<0>>
  %1 = nn.elementwise <mul> (%0, %b) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<8xf32, #nn.replicated>) -> tensor<1x4x8xf32, #nn.batched<0>>
  %2 = nn.elementwise <pow> (%1, %c) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<1x4x1xf32, #nn.replicated>) -> tensor<1x4x8xf32, #nn.batched<0>>
  return
}

// CHECK-LABEL: @partial
func.func @partial(%p: tensor<4xf32, #nn.partial<sum>>, %q: tensor<f32, #nn.partial<sum>>, %r: tensor<f32, #nn.replicated>, %c: tensor<4xi1, #nn.replicated>, %n: tensor<i64, #nn.partial<sum>>) {
  %zero = nn.constant {value = dense<0.0> : tensor<f32>} : tensor<f32, #nn.replicated>
  // CHECK-COUNT-6: -> tensor<4xf32, #nn.partial<sum>>
  %0 = nn.elementwise <add> (%p, %q) : (tensor<4xf32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  %1 = nn.elementwise <sub> (%zero, %0) : (tensor<f32, #nn.replicated>, tensor<4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  %2 = nn.elementwise <mul> (%r, %1) : (tensor<f32, #nn.replicated>, tensor<4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  %3 = nn.elementwise <div> (%2, %r) : (tensor<4xf32, #nn.partial<sum>>, tensor<f32, #nn.replicated>) -> tensor<4xf32, #nn.partial<sum>>
  %4 = nn.elementwise <select> (%c, %3, %zero) : (tensor<4xi1, #nn.replicated>, tensor<4xf32, #nn.partial<sum>>, tensor<f32, #nn.replicated>) -> tensor<4xf32, #nn.partial<sum>>
  %5 = nn.elementwise <neg> (%4) : (tensor<4xf32, #nn.partial<sum>>) -> tensor<4xf32, #nn.partial<sum>>
  // CHECK: -> tensor<f32, #nn.partial<sum>>
  %6 = nn.cast %n : tensor<i64, #nn.partial<sum>> -> tensor<f32, #nn.partial<sum>>
  return
}

// CHECK-LABEL: @constants
func.func @constants() {
  // CHECK: tensor<1x3xf32, #nn.batched<0>>
  %0 = nn.constant {value = dense<1.0> : tensor<1x3xf32>} : tensor<1x3xf32, #nn.batched<0>>
  // CHECK: tensor<3xf32, #nn.partial<sum>>
  %1 = nn.constant {value = dense<0.0> : tensor<3xf32>} : tensor<3xf32, #nn.partial<sum>>
  // CHECK: nn.iota 1 : tensor<1x3xi64, #nn.batched<0>>
  %2 = nn.iota 1 : tensor<1x3xi64, #nn.batched<0>>
  return
}

// -----

func.func @two_batch_axes(%x: tensor<1x1xf32, #nn.batched<0>>, %y: tensor<1xf32, #nn.batched<0>>) {
  // expected-error @+1 {{it combines [N, 1] with [N]: every sample meets every other one}}
  %0 = nn.elementwise <sub> (%x, %y) : (tensor<1x1xf32, #nn.batched<0>>, tensor<1xf32, #nn.batched<0>>) -> tensor<1x1xf32, #nn.batched<0>>
  return
}

// -----

// Tile(h, 2) against repeat_interleave(h, 2).
func.func @two_orders(%x: tensor<2x4xf32, #nn.batched<0>>, %y: tensor<2x4xf32, #nn.batched<0, outer = 2>>) {
  // expected-error @+1 {{it lines up two values whose samples lie in different orders along axis 0}}
  %0 = nn.elementwise <mul> (%x, %y) : (tensor<2x4xf32, #nn.batched<0>>, tensor<2x4xf32, #nn.batched<0, outer = 2>>) -> tensor<2x4xf32, #nn.batched<0>>
  return
}

// -----

func.func @baked_in(%x: tensor<1x4xf32, #nn.batched<0>>, %y: tensor<3x4xf32, #nn.replicated>) {
  // expected-error @+1 {{it combines the batch with a value of fixed shape [3, 4], whose axis 0 is along the samples}}
  %0 = nn.elementwise <add> (%x, %y) : (tensor<1x4xf32, #nn.batched<0>>, tensor<3x4xf32, #nn.replicated>) -> tensor<3x4xf32, #nn.batched<0>>
  return
}

// -----

func.func @sum_meets_samples(%x: tensor<1x4xf32, #nn.batched<0>>, %p: tensor<4xf32, #nn.partial<sum>>) {
  // expected-error @+1 {{it uses a sum over all samples of the batch for each single sample}}
  %0 = nn.elementwise <sub> (%x, %p) : (tensor<1x4xf32, #nn.batched<0>>, tensor<4xf32, #nn.partial<sum>>) -> tensor<1x4xf32, #nn.batched<0>>
  return
}

// -----

func.func @products_of_sums(%p: tensor<f32, #nn.partial<sum>>, %q: tensor<f32, #nn.partial<sum>>, %r: tensor<f32, #nn.replicated>) {
  // expected-error @+1 {{over the samples, of which a micro-step has only its own terms}}
  %0 = nn.elementwise <mul> (%p, %q) : (tensor<f32, #nn.partial<sum>>, tensor<f32, #nn.partial<sum>>) -> tensor<f32, #nn.partial<sum>>
  // expected-error @+1 {{over the samples, of which a micro-step has only its own terms}}
  %1 = nn.elementwise <div> (%r, %q) : (tensor<f32, #nn.replicated>, tensor<f32, #nn.partial<sum>>) -> tensor<f32, #nn.partial<sum>>
  // expected-error @+1 {{over the samples, of which a micro-step has only its own terms}}
  %2 = nn.elementwise <sqrt> (%q) : (tensor<f32, #nn.partial<sum>>) -> tensor<f32, #nn.partial<sum>>
  // expected-error @+1 {{it adds a value that is the same for all samples to a sum over them}}
  %3 = nn.elementwise <add> (%r, %q) : (tensor<f32, #nn.replicated>, tensor<f32, #nn.partial<sum>>) -> tensor<f32, #nn.partial<sum>>
  return
}

// -----

func.func @whole_numbers(%n: tensor<i64, #nn.partial<sum>>, %p: tensor<f32, #nn.partial<sum>>, %two: tensor<i64, #nn.replicated>) {
  // expected-error @+1 {{over the samples, of which a micro-step has only its own terms}}
  %0 = nn.elementwise <div> (%n, %two) : (tensor<i64, #nn.partial<sum>>, tensor<i64, #nn.replicated>) -> tensor<i64, #nn.partial<sum>>
  // expected-error @+1 {{it rounds a sum over the samples to whole numbers}}
  %1 = nn.cast %p : tensor<f32, #nn.partial<sum>> -> tensor<i64, #nn.partial<sum>>
  return
}

// -----

func.func @places() {
  // expected-error @+1 {{it counts the samples: its values are their places in the batch}}
  %0 = nn.iota 0 : tensor<1x3xi64, #nn.batched<0>>
  return
}

// -----

func.func @constants() {
  // expected-error @+1 {{result 0 has type 'tensor<1x2xf32, #nn.batched<0>>', but its operands give 'tensor<1x2xf32, #nn.replicated>'}}
  %0 = nn.constant {value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>} : tensor<1x2xf32, #nn.batched<0>>
  return
}
