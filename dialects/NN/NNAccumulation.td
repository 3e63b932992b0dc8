// SPDX-License-Identifier: Apache-2.0
// What cutting the batch adds to a graph: totals, row masks, shared terms, the batch size.
#ifndef ACCUM_NN_ACCUMULATION
#define ACCUM_NN_ACCUMULATION

include "dialects/NN/NNBase.td"

def NN_TotalOp : NN_PureOp<"total"> {
  let summary = "the whole sum of a partial, over all micro-steps and devices";
  let description = [{
    Legal where the operand depends on inputs only: the slices of all totals become the pre-pass of a step.
  }];
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def NN_MaskRowsOp : NN_PureOp<"mask_rows"> {
  let summary = "a select: x where the sample is real, zero in the spare rows of a ragged micro-step";
  let description = [{
    Axis `dim` is outer x N x rows, N being the extent of `valid` (i1, one per sample). A select and not a product: a
    weight of zero would turn inf into NaN.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$valid, I64Attr:$dim, DefaultValuedAttr<I64Attr, "1">:$outer);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $input `,` $valid `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_ShareOp : NN_PureOp<"share"> {
  let summary = "replicated to partial: the value in the first micro-step of device 0, zero elsewhere";
  let description = "`source` is empty until a step exists, then (first_row: tensor<i64>); the value counts where it is 0.";
  let arguments = (ins NN_Tensor:$input, Variadic<NN_Tensor>:$source);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_BatchSizeOp : NN_PureOp<"batch_size"> {
  let summary = "number of valid samples of the global step (i64 scalar); never the micro-batch size";
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
