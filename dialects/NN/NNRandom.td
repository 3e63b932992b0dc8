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
    draws it again instead of storing it. `key` is a hash of the ONNX node's name. `source` is empty until a step
    exists, then (rng: tensor<2xi64> = seed, step; first_row: tensor<i64>). `dim` and `outer` say which axis holds the
    samples (as in #nn.batched); absent, the value has no sample axis and the mask is the same everywhere.
  }];
  let arguments = (ins NN_Tensor:$input, Variadic<NN_Tensor>:$source, F64Attr:$ratio, I64Attr:$key,
                       OptionalAttr<I64Attr>:$dim, OptionalAttr<I64Attr>:$outer, OptionalAttr<I64Attr>:$rows);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif
