// SPDX-License-Identifier: Apache-2.0
// Randomness that does not depend on how the batch is cut.
#ifndef ACCUM_NN_RANDOM
#define ACCUM_NN_RANDOM

include "dialects/NN/NNBase.td"

def NN_DropoutOp : NN_PureOp<"dropout"> {
  let summary = "x * mask / (1 - ratio), the mask drawn by a counter-based generator";
  let description = [{
    The mask is Philox4x32-10 keyed by (seed, step, key, position of the sample in the global batch window, element in
    the sample's slab): the same whatever the micro-batch size and the device count, and pure, so that the backward pass
    draws it again instead of storing it. `key` is a hash of the ONNX node's name, or, where `seeded`, of the node's own
    seed, which the run's seed does not change. `source` is empty until a step
    exists, then (rng: tensor<3xi64> = seed, step, samples before this call; first_row: tensor<i64>). `dim` and `outer`
    say which axis holds the samples (as in #nn.batched); absent, the value has no sample axis and the mask is the same
    everywhere.

    Where a model has several lengths the second source is the position of each sample (tensor<1xi64, batched>), and
    elements are numbered as in the slab of the largest length: `keyed` is that one's shape, with `outer` and `rows` in the
    place of the axis that holds the samples.
  }];
  let arguments = (ins NN_Tensor:$input, Variadic<NN_Tensor>:$source, F64Attr:$ratio, I64Attr:$key,
                       OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$outer, OptionalAttr<I64Attr>:$rows,
                       UnitAttr:$seeded, OptionalAttr<DenseI64ArrayAttr>:$keyed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

class NN_Draw<string mnemonic, int value> : I32EnumAttrCase<mnemonic, value>;

def NN_RandomKind : I32EnumAttr<"RandomKind", "what numbers are drawn",
    [NN_Draw<"uniform", 0>, NN_Draw<"normal", 1>, NN_Draw<"mask", 2>]> {
  let cppNamespace = "::accum::nn";
  let genSpecializedAttr = 0;
}
def NN_RandomKindAttr : EnumAttr<NN_Dialect, NN_RandomKind, "kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_RandomOp : NN_PureOp<"random", [AttrSizedOperandSegments]> {
  let summary = "numbers drawn by a counter-based generator";
  let description = [{
    `uniform` in [0, 1); `normal` with mean 0 and deviation 1; `mask`: 0 with probability `ratio`, else 1 / (1 - ratio),
    which evaluation takes for 1. Keyed as nn.dropout is, `seeded` too: elements of a sample by its position in the global batch, those
    of a value without samples by element only, one draw a step for all. `like` says where the samples lie until check
    has placed the result; it is no operand afterwards. In whatever type the result is, the numbers are those of f32.
  }];
  let arguments = (ins Optional<NN_Tensor>:$like, Variadic<NN_Tensor>:$source, NN_RandomKindAttr:$kind, I64Attr:$key,
                       UnitAttr:$seeded, OptionalAttr<F64Attr>:$ratio, OptionalAttr<I64Attr>:$dim,
                       OptionalAttr<I64Attr>:$outer, OptionalAttr<I64Attr>:$rows,
                       OptionalAttr<DenseI64ArrayAttr>:$keyed);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $kind (` ` `like` $like^ `:` type($like))? (` ` `(` $source^ `:` type($source) `)`)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

#endif
