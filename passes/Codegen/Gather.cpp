// SPDX-License-Identifier: Apache-2.0
// Elements of indexed reads.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

Element Emitter::gather(nn::GatherOp op, ArrayRef<Index> at, Mask mask) {
  // result[b..., l..., i..., t...] = input[b..., l..., indices[b..., i...], t...]
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t batch = op.getBatchDims(), axis = op.getAxis(), picked = indices.getRank() - batch;
  SmallVector<Index> where(at.take_front(batch));
  llvm::append_range(where, at.slice(axis, picked));
  SmallVector<Index> source(at.take_front(axis));
  source.push_back(indexFrom(element(op.getIndices(), where, mask), input.getDimSize(axis)));
  llvm::append_range(source, at.drop_front(axis + picked));
  return element(op.getInput(), source, mask);
}

Element Emitter::gatherElements(nn::GatherElementsOp op, ArrayRef<Index> at, Mask mask) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<Index> source(at);
  source[op.getAxis()] = indexFrom(element(op.getIndices(), at, mask), input.getDimSize(op.getAxis()));
  return element(op.getInput(), source, mask);
}

} // namespace accum::codegen
