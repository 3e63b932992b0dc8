// Placement rules of contractions.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @contract
func.func @contract(%x: tensor<1x4x8xf32, #nn.batched<0>>, %w: tensor<8x3xf32, #nn.replicated>, %p: tensor<8x3xf32, #nn.partial<sum>>, %s: tensor<4x1x8xf32, #nn.batched<1>>) {
  // A batched row times a weight.
  // CHECK: -> tensor<4x1x3xf32, #nn.batched<1>>
  %0 = nn.contract "bsk,kn->sbn" (%x, %w) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<8x3xf32, #nn.replicated>) -> tensor<4x1x3xf32, #nn.batched<1>>
  // The samples of both: kept, and summed over (a weight gradient).
  // CHECK: -> tensor<1x4x4xf32, #nn.batched<0>>
  %1 = nn.contract "bsk,tbk->bst" (%x, %s) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<4x1x8xf32, #nn.batched<1>>) -> tensor<1x4x4xf32, #nn.batched<0>>
  // CHECK: -> tensor<8x8xf32, #nn.partial<sum>>
  %2 = nn.contract "bsk,sbn->kn" (%x, %s) : (tensor<1x4x8xf32, #nn.batched<0>>, tensor<4x1x8xf32, #nn.batched<1>>) -> tensor<8x8xf32, #nn.partial<sum>>
  // CHECK: -> tensor<8x8xf32, #nn.partial<sum>>
  %3 = nn.contract "km,nm->kn" (%w, %p) : (tensor<8x3xf32, #nn.replicated>, tensor<8x3xf32, #nn.partial<sum>>) -> tensor<8x8xf32, #nn.partial<sum>>
  return
}

// -----

// CLIP: text_embeds x image_embeds^T.
func.func @pairs(%x: tensor<1x8xf32, #nn.batched<0>>, %y: tensor<1x8xf32, #nn.batched<0>>) {
  // expected-error @+1 {{it multiplies [N, 8] by [N, 8]: entry (i, j) pairs sample i with sample j}}
  %0 = nn.contract "ik,jk->ij" (%x, %y) : (tensor<1x8xf32, #nn.batched<0>>, tensor<1x8xf32, #nn.batched<0>>) -> tensor<1x1xf32, #nn.batched<0>>
  return
}

// -----

func.func @orders(%x: tensor<4x8xf32, #nn.batched<0>>, %y: tensor<4x8xf32, #nn.batched<0, outer = 4>>) {
  // expected-error @+1 {{it multiplies two values whose samples lie in different orders}}
  %0 = nn.contract "ik,ij->kj" (%x, %y) : (tensor<4x8xf32, #nn.batched<0>>, tensor<4x8xf32, #nn.batched<0, outer = 4>>) -> tensor<8x8xf32, #nn.partial<sum>>
  return
}

// -----

func.func @baked_in(%x: tensor<1x8xf32, #nn.batched<0>>, %y: tensor<5x1xf32, #nn.replicated>, %p: tensor<8x2xf32, #nn.partial<sum>>) {
  // expected-error @+1 {{it multiplies along the batch axis by a value of fixed shape [5, 1]}}
  %0 = nn.contract "ik,ji->kj" (%x, %y) : (tensor<1x8xf32, #nn.batched<0>>, tensor<5x1xf32, #nn.replicated>) -> tensor<8x5xf32, #nn.partial<sum>>
  // expected-error @+1 {{it uses a sum over all samples of the batch for each single sample}}
  %1 = nn.contract "ik,kj->ij" (%x, %p) : (tensor<1x8xf32, #nn.batched<0>>, tensor<8x2xf32, #nn.partial<sum>>) -> tensor<1x2xf32, #nn.batched<0>>
  return
}
