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

// -----

func.func @heads(%q: tensor<1x3x9x8xf32>, %k: tensor<1x2x7x8xf32>) {
  // expected-error @+2 {{has query heads that are no multiple of its key heads}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %lse = nn.attention(%q, %k, %k) <infinite> {scale = 1.0 : f64} : (tensor<1x3x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>) -> (tensor<1x3x9x8xf32>, tensor<1x3x9xf32>)
  return
}

// -----

func.func @keys(%q: tensor<1x2x9x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x6x8xf32>) {
  // expected-error @+2 {{has queries, keys and values of shapes that do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %y, %lse = nn.attention(%q, %k, %v) <infinite> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x6x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @masks(%q: tensor<1x2x9x8xf32>, %m: tensor<1x1x9x7xi1>) {
  // expected-error @+1 {{has a mask that does not fit its scores}}
  %y, %lse = nn.attention(%q, %q, %q mask %m) <excluded> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x9x7xi1>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @numbers(%q: tensor<1x2x9x8xf32>, %n: tensor<1x1x1x9xi64>) {
  // expected-error @+1 {{needs a mask of i1 or of the scores' type}}
  %z, %s = nn.attention(%q, %q, %q mask %n) <excluded> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x1x1x9xi64>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9xf32>)
  return
}

// -----

func.func @statistics(%q: tensor<1x2x9x8xf32>, %s: tensor<1x2x9x1xf32>) {
  // expected-error @+1 {{has an output, its cotangent or statistics of another shape than attention gives}}
  %d:3 = nn.attention_bwd(%q, %q, %q, %q, %s, %q) <infinite> {scale = 1.0 : f64} : (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x1xf32>, tensor<1x2x9x8xf32>) -> (tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>)
  return
}

// -----

func.func @reshape(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{turns 32 elements into 30}}
  %0 = nn.reshape %a : tensor<4x8xf32> -> tensor<5x6xf32>
  return
}

// -----

func.func @reshape_of_samples(%a: tensor<4x8xf32, #nn.batched<0>>) {
  // expected-error @+1 {{turns 32 elements into 64}}
  %0 = nn.reshape %a : tensor<4x8xf32, #nn.batched<0>> -> tensor<64xf32, #nn.batched<0>>
  return
}

// -----

func.func @reshape_and_cast(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{changes the element type}}
  %0 = nn.reshape %a : tensor<4x8xf32> -> tensor<32xf64>
  return
}

// -----

func.func @broadcast(%a: tensor<4x1xf32>) {
  // expected-error @+1 {{expands axis 0 of extent 4}}
  %0 = nn.broadcast %a : tensor<4x1xf32> -> tensor<2x8x3xf32>
  return
}

// -----

func.func @pad(%a: tensor<4xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{does not fit into axis 0}}
  %0 = nn.pad %a with %zero low [3] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return
}
