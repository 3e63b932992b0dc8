// What the verifier reports after a phase that went wrong.
// RUN: accum-opt %s -accum-verify-placement -split-input-file -verify-diagnostics

func.func @other_type(%x: tensor<1x4xf32, #nn.batched<0>>) {
  // expected-error @+1 {{result 0 has type 'tensor<1x4xf32, #nn.replicated>', but its operands give 'tensor<1x4xf32, #nn.batched<0>>'}}
  %0 = nn.elementwise <exp> (%x) : (tensor<1x4xf32, #nn.batched<0>>) -> tensor<1x4xf32, #nn.replicated>
  return
}

// -----

func.func @unplaced(%x: tensor<1x4xf32>) {
  // expected-error @+1 {{operand 0 has no placement}}
  %0 = nn.elementwise <exp> (%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

// A gradient that leaves the micro-step is a term of a sum.
train.step @step inputs [{name = "x"}] {
^bb0(%x: tensor<1x4xf32, #nn.batched<0>>):
  %loss = train.phase "micro" loop(%x: tensor<1x4xf32, #nn.batched<0>> = %x) -> tensor<1x4xf32, #nn.replicated> {
    // expected-error @+1 {{'tensor<1x4xf32, #nn.batched<0>>' leaves the phase "micro", expected 'tensor<1x4xf32, #nn.partial<sum>>'}}
    train.yield %x : tensor<1x4xf32, #nn.batched<0>> to ["loss"]
  }
}
