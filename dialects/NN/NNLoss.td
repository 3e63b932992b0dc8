// SPDX-License-Identifier: Apache-2.0
// Losses.
#ifndef ACCUM_NN_LOSS
#define ACCUM_NN_LOSS

include "dialects/NN/NNBase.td"

def NN_CrossEntropyOp : NN_PureOp<"cross_entropy", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "-log softmax(logits)[label] per row; classes are the last axis";
  let description = [{
    loss and lse (log sum exp, kept for the derivative) have the labels' shape. Rows whose label is `ignore_index` have
    loss 0. Class weights and the mean are written around it with other ops.
  }];
  let arguments = (ins NN_Tensor:$logits, NN_Tensor:$labels, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs NN_Tensor:$loss, NN_Tensor:$lse);
  let assemblyFormat = "`(` $logits `,` $labels `)` attr-dict `:` functional-type(operands, results)";
}

def NN_CrossEntropyGradOp : NN_PureOp<"cross_entropy_grad", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "(exp(logits - lse) - [class == label]) * dloss; 0 in ignored rows";
  let arguments = (ins NN_Tensor:$logits, NN_Tensor:$labels, NN_Tensor:$lse, NN_Tensor:$dloss,
                       OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, $result)";
}

#endif
