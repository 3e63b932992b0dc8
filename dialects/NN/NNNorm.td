// SPDX-License-Identifier: Apache-2.0
// Row normalisations: softmax and layer norms over trailing axes.
#ifndef ACCUM_NN_NORM
#define ACCUM_NN_NORM

include "dialects/NN/NNBase.td"

def NN_SoftmaxOp : NN_PureOp<"softmax", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "exp(x - max) / sum over one axis; with `log`, its logarithm";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, UnitAttr:$log);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` $input `)` attr-dict `:` functional-type($input, $result)";
}

def NN_LayerNormOp : NN_PureOp<"layer_norm", [AttrSizedOperandSegments, InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "(x - mean) * rstd * scale + bias over the axes from `axis` on";
  let description = [{
    scale and bias have the normalised axes' shape. mean and rstd = 1 / sqrt(variance + eps) have the leading axes'
    shape and are kept for the derivative.
  }];
  let arguments = (ins NN_Tensor:$input, Optional<NN_Tensor>:$scale, Optional<NN_Tensor>:$bias, I64Attr:$axis,
                       F64Attr:$eps);
  let results = (outs NN_Tensor:$result, NN_Tensor:$mean, NN_Tensor:$rstd);
  let assemblyFormat = [{
    `(` $input (`scale` $scale^)? (`bias` $bias^)? `)` attr-dict `:` functional-type(operands, results)
  }];
}

def NN_RmsNormOp : NN_PureOp<"rms_norm", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "x * rstd * scale over the axes from `axis` on, rstd = 1 / sqrt(mean(x^2) + eps)";
  let arguments = (ins NN_Tensor:$input, Optional<NN_Tensor>:$scale, I64Attr:$axis, F64Attr:$eps);
  let results = (outs NN_Tensor:$result, NN_Tensor:$rstd);
  let assemblyFormat = "`(` $input (`scale` $scale^)? `)` attr-dict `:` functional-type(operands, results)";
}

#endif
