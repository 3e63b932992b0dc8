// SPDX-License-Identifier: Apache-2.0
// Passes that end the phase `import`.
#ifndef ACCUM_IMPORT_PASSES
#define ACCUM_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def Recognise : Pass<"accum-recognise", "::mlir::ModuleOp"> {
  let summary = "put scattered primitives back together: norms, activations, softmax, cross-entropy, attention";
  let description = [{
    Exporters write LayerNorm, RMSNorm, GELU, SiLU, softmax and cross-entropy as primitive ops, each in several ways.
    Products are compared as sets of factors with one constant, so that the order and grouping of multiplications
    do not matter. What does not match stays as it is, and correct.

    A softmax whose NaN rows are replaced by zeros (all scores -inf: a fully masked row) is rewritten so that no NaN
    arises: its derivative would be NaN, although its value is not. Where no score can be -inf the replacement goes.

    Logarithms and exponentials that have no digits left as they are written are one function: log(sigmoid(x)), also of
    a complement, log(1 + x), exp(x) - 1, log(exp(a) + exp(b)), log(sum(exp(x))), log(cumsum(exp(x))), 1 - erf(x), which
    times exp(x * x) is erfcx(x), and its logarithm. An angle is one function of both coordinates. Binary cross-entropy is recognised whole, of
    probabilities for the framework's own derivative, of logits because its terms cancel where an answer is right.

    Attention is a product of queries and keys, scaled anywhere, a mask, a softmax that nothing else reads, and a product
    with the values. Masks are read as conditions: a triangle becomes `causal`, the rest one i1 operand where every hidden
    score is -inf or below -1e30, else the float mask as it is. Masks that a trained parameter reaches, dropout on the
    probabilities and probabilities with other users stay primitives.

    Numbers computed from numbers are computed, and a transpose between reshapes that merge and split leading axes
    becomes one transpose.

    Requires: what `import` ensures, without duplicated ops left by it: common subexpressions are merged first.
    Ensures: the same values; locations are those of the last op of each match.

    Before:
    ```mlir
    %0 = nn.elementwise <sigmoid> (%x) : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
    %1 = nn.elementwise <mul> (%x, %0) : ...
    ```
    After:
    ```mlir
    %1 = nn.elementwise <silu> (%x) : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<1x4xf32, #nn.extent<0>>
    ```
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

#endif
