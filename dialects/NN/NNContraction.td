// SPDX-License-Identifier: Apache-2.0
// Contractions: every matrix product is one op with indexing maps.
#ifndef ACCUM_NN_CONTRACTION
#define ACCUM_NN_CONTRACTION

include "dialects/NN/NNBase.td"

def NN_ContractOp : NN_PureOp<"contract", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "sum of products over the indices that the result lacks";
  let description = [{
    Three maps that are projected permutations, in the order lhs, rhs, result; written as letters:
    `nn.contract "bsk,kn->bsn" (%x, %w) : (tensor<1x24x32xf32>, tensor<32x96xf32>) -> tensor<1x24x96xf32>`.
    Every letter of the result stands in an operand, and every other one in both operands. Transposes and heads are
    expressed by the order of letters. An index has one extent; broadcasting is written as an absent letter. Products of
    bf16 are summed in f32, and the result may be left in that.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, StrAttr:$spec);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$spec ` ` `(` $lhs `,` $rhs `)` attr-dict `:` functional-type(operands, $result)";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$spec, "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let extraClassDeclaration = [{
    /// The letters of lhs, rhs and result.
    ::llvm::StringRef lhsLetters(), rhsLetters(), resultLetters();
  }];
  let hasVerifier = 1;
}

#endif
