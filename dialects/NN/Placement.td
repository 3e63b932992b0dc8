// SPDX-License-Identifier: Apache-2.0
// The interface by which an op says how placements flow through it.
#ifndef ACCUM_NN_PLACEMENT
#define ACCUM_NN_PLACEMENT

include "mlir/IR/OpBase.td"

def NN_PlacementOpInterface : OpInterface<"PlacementOpInterface"> {
  let cppNamespace = "::accum::nn";
  let description = [{
    The placement rule of an op: from where the samples are in its operands to where they are in its results, or why
    there is no such rule. Slabs are read off the types. Where the operands leave a choice (the batch axis of a reshape
    or a broadcast), the encoding of the result's type decides: #nn.extent after import, a placement later.
  }];
  let methods = [InterfaceMethod<
    "One placement per result; or failure, and `why` says it. Unplaced operands are the caller's bug.",
    "::llvm::LogicalResult", "inferPlacements",
    (ins "::llvm::ArrayRef<::accum::nn::Placement>":$operands,
         "::llvm::SmallVectorImpl<::accum::nn::Placement> &":$results, "::accum::nn::Refusal &":$why)>];
}

#endif
