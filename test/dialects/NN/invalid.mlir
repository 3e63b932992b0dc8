// What the verifiers refuse.
// RUN: accum-opt %s -split-input-file -verify-diagnostics

func.func @letters(%a: tensor<4x8xf32>, %b: tensor<9x3xf32>) {
  // expected-error @+2 {{letters do not fit the operands' shapes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nn.contract "mk,kn->mn" (%a, %b) : (tensor<4x8xf32>, tensor<9x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{reads outside axis 1}}
  %0 = nn.slice %a at [0, 6] by [1, 1] : tensor<4x8xf32> -> tensor<4x3xf32>
  return
}

// -----

// expected-error @+1 {{outer = 3 does not divide the slab's extent 4}}
func.func private @outer(tensor<4x8xf32, #nn.batched<0, outer = 3>>)
