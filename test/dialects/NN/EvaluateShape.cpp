// SPDX-License-Identifier: Apache-2.0
// Data movement, one element at a time.
#include "test/dialects/NN/Evaluator.h"

using namespace mlir;

namespace accum::test {

static Array evaluate(Evaluator &e, nn::TransposeOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    for (auto [i, axis] : llvm::enumerate(op.getPerm()))
      from[axis] = index[i];
    result.at(index) = input.at(from);
  });
  return result;
}

static Array evaluate(Evaluator &e, nn::BroadcastOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index.take_back(input.rank()));
    for (auto [i, extent] : llvm::zip(from, input.shape))
      i = extent == 1 ? 0 : i;
    result.at(index) = input.at(from);
  });
  return result;
}

/// On the batch axis starts count slab rows: times the samples they count rows.
static Array evaluate(Evaluator &e, nn::SliceOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput());
  nn::Placement placement = nn::Placement::of(op.getType());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    for (auto [axis, i] : llvm::enumerate(from)) {
      bool isBatch = placement.isBatched() && placement.dim == static_cast<int64_t>(axis);
      i = op.getStarts()[axis] * (isBatch ? e.batch.samples : 1) + i * op.getStrides()[axis];
    }
    result.at(index) = input.at(from);
  });
  return result;
}

/// As for slices, `low` counts slab rows on the batch axis.
static Array evaluate(Evaluator &e, nn::PadOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  nn::Placement placement = nn::Placement::of(op.getType());
  const Array &input = e.at(op.getInput());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    bool inside = true;
    for (auto [axis, i] : llvm::enumerate(from)) {
      bool isBatch = placement.isBatched() && placement.dim == static_cast<int64_t>(axis);
      i -= op.getLow()[axis] * (isBatch ? e.batch.samples : 1);
      inside &= i >= 0 && i < input.shape[axis];
    }
    result.at(index) = inside ? input.at(from) : e.at(op.getValue()).data[0];
  });
  return result;
}

static Array evaluate(Evaluator &e, nn::ConcatOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  int64_t start = 0, axis = op.getAxis();
  for (Value value : op.getInputs()) {
    const Array &input = e.at(value);
    forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> to(index);
      to[axis] += start;
      result.at(to) = input.at(index);
    });
    start += input.shape[axis];
  }
  return result;
}

bool evaluateShape(Evaluator &e, Operation *op) {
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
    e.set(reshape, {e.shapeOf(reshape), e.at(reshape.getInput()).data});
  } else if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    e.set(transpose, evaluate(e, transpose));
  } else if (auto broadcast = dyn_cast<nn::BroadcastOp>(op)) {
    e.set(broadcast, evaluate(e, broadcast));
  } else if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    e.set(slice, evaluate(e, slice));
  } else if (auto pad = dyn_cast<nn::PadOp>(op)) {
    e.set(pad, evaluate(e, pad));
  } else if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
    e.set(concat, evaluate(e, concat));
  } else {
    return false;
  }
  return true;
}

} // namespace accum::test
