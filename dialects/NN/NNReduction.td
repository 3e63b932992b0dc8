// SPDX-License-Identifier: Apache-2.0
// Reductions, scans and selections along axes.
#ifndef ACCUM_NN_REDUCTION
#define ACCUM_NN_REDUCTION

include "dialects/NN/NNBase.td"

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "what a reduction computes", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"prod", 3>]> {
  let cppNamespace = "::accum::nn";
  let genSpecializedAttr = 0;
}
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ReduceOp : NN_PureOp<"reduce", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "reduction over axes, which are dropped";
  let description = [{
    `nn.reduce <sum> (%x) {axes = array<i64: 1>} : (tensor<24x32xf32>) -> tensor<24xf32>`. A sum over the batch axis is
    a partial. A mean does not exist: import writes sum / count, so that no op's meaning depends on the micro-batch.
    Elements that tie for an extremum share its gradient; with `first`, over one axis, the first of them takes it all.
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$first);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind ` ` `(` $input `)` attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
}

def NN_ArgReduceOp : NN_PureOp<"arg_reduce"> {
  let summary = "index (i64) of the first largest or smallest element along an axis, which is dropped";
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$input, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$kind ` ` `(` $input `)` attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
}

def NN_CumSumOp : NN_PureOp<"cumsum"> {
  let summary = "running sum along an axis";
  let description = [{
    With `exclusive` without the element itself, with `reverse` from the end. With `log` it is the logarithm of the
    running sum of exponentials, finite wherever the elements are, as `torch.logcumsumexp` is.
  }];
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse, UnitAttr:$log);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $input `)` attr-dict `:` functional-type($input, $result)";
  let hasVerifier = 1;
}

def NN_TopKOp : NN_PureOp<"top_k"> {
  let summary = "the k largest (or smallest) elements along an axis, in order, and their indices (i64)";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, I64Attr:$k, UnitAttr:$smallest);
  let results = (outs NN_Tensor:$values, NN_Tensor:$indices);
  let assemblyFormat = "`(` $input `)` attr-dict `:` functional-type($input, results)";
  let hasVerifier = 1;
}

#endif
