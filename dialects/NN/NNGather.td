// SPDX-License-Identifier: Apache-2.0
// Indexed reads and their transposes.
#ifndef ACCUM_NN_GATHER
#define ACCUM_NN_GATHER

include "dialects/NN/NNBase.td"

def NN_GatherOp : NN_PureOp<"gather", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "rows of `input` along `axis`, picked by `indices`";
  let description = [{
    result[b..., l..., i..., t...] = input[b..., l..., indices[b..., i...], t...], where b are the first `batch_dims`
    axes of both, l the input's axes from there to `axis`, and t those behind it. Negative indices count from the end.
    Reads that were proved local to their sample have batch_dims = 1.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, I64Attr:$axis, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $input `,` $indices `)` attr-dict `:` functional-type(operands, $result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$indices, "int64_t":$axis,
                             CArg<"int64_t", "0">:$batchDims)>];
  let hasVerifier = 1;
}

def NN_ScatterAddOp : NN_PureOp<"scatter_add"> {
  let summary = "transpose of gather: zeros of the result type, `updates` added at `indices`";
  let arguments = (ins NN_Tensor:$indices, NN_Tensor:$updates, I64Attr:$axis, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $indices `,` $updates `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_GatherElementsOp : NN_PureOp<"gather_elements"> {
  let summary = "result[..., j, ...] = input[..., indices[..., j, ...], ...] along `axis`; the result has indices' shape";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $input `,` $indices `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

def NN_ScatterElementsAddOp : NN_PureOp<"scatter_elements_add"> {
  let summary = "transpose of gather_elements: zeros of the result type, `updates` added at `indices` along `axis`";
  let arguments = (ins NN_Tensor:$indices, NN_Tensor:$updates, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $indices `,` $updates `)` attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

#endif
