// What has no code is refused by name.
// RUN: accum-opt %s --accum-kernels-to-loops --verify-diagnostics --split-input-file

func.func private @k(%x: tensor<1x4xf32>) -> tensor<1x2xf32> attributes {accum.kernel = 0 : i64} {
  // expected-error @below {{'nn.top_k' op has no kernel code [kernel-op]}}
  %y:2 = nn.top_k(%x) {axis = 1 : i64, k = 2 : i64} : (tensor<1x4xf32>) -> (tensor<1x2xf32>, tensor<1x2xi64>)
  return %y#0 : tensor<1x2xf32>
}

// -----

// expected-error @below {{has type 'tensor<2xf32, #nn.batched<0>>', expected a plain static tensor}}
func.func private @k(%x: tensor<2xf32, #nn.batched<0>>) -> tensor<2xf32, #nn.batched<0>>
    attributes {accum.kernel = 0 : i64} {
  return %x : tensor<2xf32, #nn.batched<0>>
}
