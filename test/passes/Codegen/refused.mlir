// What has no code is refused by name.
// RUN: accum-opt %s --accum-kernels-to-loops --verify-diagnostics --split-input-file

func.func private @k(%x: tensor<1x1x4xf32>) -> tensor<1x1x2xf32> attributes {accum.kernel = 0 : i64} {
  // expected-error @below {{'nn.pool' op has no kernel code [kernel-op]}}
  %y = nn.pool <max> (%x) {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>}
      : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  return %y : tensor<1x1x2xf32>
}

// -----

// expected-error @below {{has type 'tensor<2xf32, #nn.batched<0>>', expected a plain static tensor}}
func.func private @k(%x: tensor<2xf32, #nn.batched<0>>) -> tensor<2xf32, #nn.batched<0>>
    attributes {accum.kernel = 0 : i64} {
  return %x : tensor<2xf32, #nn.batched<0>>
}
