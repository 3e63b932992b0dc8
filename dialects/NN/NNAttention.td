// SPDX-License-Identifier: Apache-2.0
// Attention and its derivative.
#ifndef ACCUM_NN_ATTENTION
#define ACCUM_NN_ATTENTION

include "dialects/NN/NNBase.td"

def NN_HiddenScore : I32EnumAttr<"HiddenScore", "the score of a key that a query may not see", [
    I32EnumAttrCase<"excluded", 0>, I32EnumAttrCase<"infinite", 1>, I32EnumAttrCase<"lowered", 2>,
    I32EnumAttrCase<"replaced", 3>]> {
  let cppNamespace = "::accum::nn";
  let genSpecializedAttr = 0;
}
def NN_HiddenScoreAttr : EnumAttr<NN_Dialect, NN_HiddenScore, "hidden_score"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_AttentionOp : NN_PureOp<"attention", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "softmax(scale * q k^T, masked) v, and the logarithm of each row's sum of exponentials";
  let description = [{
    q is [b, heads, queries, d], k [b, groups, keys, d], v [b, groups, keys, e]; heads is a multiple of groups, and head h
    reads group h / (heads / groups). y is [b, heads, queries, e]; lse [b, heads, queries] is kept for the derivative, in
    f64 beside f64 and in f32 else. The batch is axis 0.

    A mask has four axes, each 1 or as the scores have it. A float mask is added to the scaled scores. A mask of i1, and
    `causal` (query i sees keys 0 .. i), hide keys. `hidden` says what their score is, which shows only in rows that see no
    key:

    | hidden | score | a row that sees nothing |
    |---|---|---|
    | excluded | -inf | y = 0, and no cotangents |
    | infinite | -inf | NaN, as a bare softmax has it |
    | lowered | the score plus the lowest f32 | equal weights; cotangents pass |
    | replaced | the lowest f32 | equal weights; scores get no cotangent |

    With `excluded`, a row whose scores are all -inf by a float mask gives zeros too.

    `nn.attention(%q, %k, %v mask %m) <lowered> causal {scale = 0.125 : f64} : (...) -> (...)`
  }];
  let arguments = (ins NN_Tensor:$query, NN_Tensor:$key, NN_Tensor:$value, Optional<NN_Tensor>:$mask,
                       NN_HiddenScoreAttr:$hidden, UnitAttr:$causal, F64Attr:$scale);
  let results = (outs NN_Tensor:$result, NN_Tensor:$lse);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value (`mask` $mask^)? `)` $hidden (`causal` $causal^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AttentionBwdOp : NN_PureOp<"attention_bwd", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "cotangents of q, k and v from that of y; weights are computed again from the scores and lse";
  let arguments = (ins NN_Tensor:$query, NN_Tensor:$key, NN_Tensor:$value, NN_Tensor:$output, NN_Tensor:$lse,
                       NN_Tensor:$doutput, Optional<NN_Tensor>:$mask, NN_HiddenScoreAttr:$hidden,
                       UnitAttr:$causal, F64Attr:$scale);
  let results = (outs NN_Tensor:$dquery, NN_Tensor:$dkey, NN_Tensor:$dvalue);
  let assemblyFormat = [{
    `(` $query `,` $key `,` $value `,` $output `,` $lse `,` $doutput (`mask` $mask^)? `)` $hidden (`causal` $causal^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif
