// SPDX-License-Identifier: Apache-2.0
// Data movement that computes nothing.
#ifndef ACCUM_NN_SHAPE
#define ACCUM_NN_SHAPE

include "dialects/NN/NNBase.td"

def NN_ReshapeOp : NN_PureOp<"reshape"> {
  let summary = "the same elements in row-major order under another shape, which the result type carries";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_TransposeOp : NN_PureOp<"transpose", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "axis i of the result is axis perm[i] of the input";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$perm);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input $perm attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_BroadcastOp : NN_PureOp<"broadcast"> {
  let summary = "right-aligned expansion of extents 1 (and of absent leading axes) to the result type's";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def NN_SliceOp : NN_PureOp<"slice"> {
  let summary = "elements starts[i] + j * strides[i], j < the result's extent i";
  let description = [{
    On the batch axis whole outer blocks only: there, starts and extents count slab rows and are multiplied by the
    micro-batch size when it is bound.
  }];
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `at` $starts `by` $strides attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def NN_PadOp : NN_PureOp<"pad"> {
  let summary = "`low[i]` elements of the scalar `value` before axis i, and as many behind as the result type asks for";
  let description = "On the batch axis whole outer blocks only; there `low` counts slab rows, as `starts` of a slice.";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$value, DenseI64ArrayAttr:$low);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input `with` $value `low` $low attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_ConcatOp : NN_PureOp<"concat", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "operands one behind the other along an axis";
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
}

#endif
