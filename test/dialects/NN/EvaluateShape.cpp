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

/// How many rows of `array` a row of the slab stands for: the number of samples on the batch axis, else 1.
static int64_t rowsPerSlabRow(const Array &array, Value value, size_t axis) {
  int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(axis);
  return extent == 0 ? 1 : array.shape[axis] / extent; // no batch axis is empty
}

static Array evaluate(Evaluator &e, nn::SliceOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    for (auto [axis, i] : llvm::enumerate(from))
      i = op.getStarts()[axis] * rowsPerSlabRow(input, op.getInput(), axis) + i * op.getStrides()[axis];
    result.at(index) = input.at(from);
  });
  return result;
}

static Array evaluate(Evaluator &e, nn::PadOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from(index);
    bool inside = true;
    for (auto [axis, i] : llvm::enumerate(from)) {
      i -= op.getLow()[axis] * rowsPerSlabRow(input, op.getInput(), axis);
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
