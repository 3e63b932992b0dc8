// SPDX-License-Identifier: Apache-2.0
// Elements of ops that only move: where they come from.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

/// Ends (exclusive, from the front) of the smallest groups of axes of both shapes that hold the same
/// elements.
static SmallVector<std::pair<int64_t, int64_t>> matchingGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int64_t>> ends;
  int64_t i = 0, j = 0, n = from.size(), m = to.size();
  while (i < n && j < m) {
    int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    }
    ends.push_back({i, j});
  }
  if (ends.empty())
    return {{n, m}};
  ends.back() = {n, m}; // trailing axes of extent 1
  return ends;
}

Element Emitter::reshape(nn::ReshapeOp op, ArrayRef<Index> at, Mask mask) {
  ArrayRef<int64_t> from = op.getType().getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(op.getInput().getType()).getShape();
  SmallVector<Index> source;
  int64_t i = 0, j = 0;
  for (auto [iEnd, jEnd] : matchingGroups(from, to)) {
    Index position = linearize(at.slice(i, iEnd - i), from.slice(i, iEnd - i));
    source.append(delinearize(position, to.slice(j, jEnd - j)));
    i = iEnd;
    j = jEnd;
  }
  return element(op.getInput(), source, mask);
}

Element Emitter::transpose(nn::TransposeOp op, ArrayRef<Index> at, Mask mask) {
  SmallVector<Index> source(at);
  for (auto [axis, from] : llvm::enumerate(op.getPerm()))
    source[from] = at[axis];
  return element(op.getInput(), source, mask);
}

Element Emitter::slice(nn::SliceOp op, ArrayRef<Index> at, Mask mask) {
  SmallVector<Index> source;
  for (auto [index, start, stride] : llvm::zip_equal(at, op.getStarts(), op.getStrides()))
    source.push_back(add(mul(index, stride), start));
  return element(op.getInput(), source, mask);
}

/// 0 <= index < extent. Uniform coordinates are clamped instead of masked: their element can always be read.
/// So are lanes that are inside together or not at all, where vectors tile the extent.
Element Emitter::inside(Index &index, int64_t extent) {
  bool together = index.form == Index::Form::Lanes && index.multiple % lanes == 0 && extent % lanes == 0;
  Index first = index;
  if (together)
    first.form = Index::Form::Uniform;
  Element low = less(constantIndex(-1), first), high = less(first, constantIndex(extent));
  if (together) {
    Index nearest = clamp(first, extent - lanes + 1);
    index = {nearest.value, nearest.scope, Index::Form::Lanes, lanes};
  } else if (index.isUniform()) {
    index = clamp(index, extent);
  }
  return both(low, high);
}

Element Emitter::pad(nn::PadOp op, ArrayRef<Index> at, Mask mask) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Element filler = element(op.getValue(), {}, {});
  if (type.getNumElements() == 0)
    return filler;
  SmallVector<Index> source;
  Element exists = constant(builder.getI1Type(), 1);
  for (auto [index, low, axis] : llvm::zip(at, op.getLow(), llvm::seq<int64_t>(0, type.getRank()))) {
    Index from = add(index, -low);
    if (low != 0 || type.getDimSize(axis) != op.getType().getDimSize(axis))
      exists = both(exists, inside(from, type.getDimSize(axis)));
    source.push_back(from);
  }
  return select(exists, element(op.getInput(), source, masked(mask, exists)), filler);
}

Element Emitter::concat(nn::ConcatOp op, ArrayRef<Index> at, Mask mask) {
  int64_t axis = op.getAxis(), begin = 0;
  Element result;
  for (Value input : op.getInputs()) {
    int64_t extent = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    if (extent == 0)
      continue;
    SmallVector<Index> source(at);
    source[axis] = add(at[axis], -begin);
    Element exists = inside(source[axis], extent);
    Element value = element(input, source, masked(mask, exists));
    result = result.value ? select(exists, value, result) : value;
    begin += extent;
  }
  return result;
}

} // namespace accum::codegen
