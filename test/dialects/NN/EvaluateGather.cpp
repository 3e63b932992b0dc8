// SPDX-License-Identifier: Apache-2.0
// Indexed reads and writes, one element at a time.
#include "test/dialects/NN/Evaluator.h"

using namespace mlir;

namespace accum::test {

static int64_t wrap(double index, int64_t extent) {
  auto i = static_cast<int64_t>(index);
  return i < 0 ? i + extent : i;
}

/// From an index [b, l, i, t] of gather's result to that of its input [b, l, axis, t]. `indices` is [b, i].
static SmallVector<int64_t> source(ArrayRef<int64_t> index, const Array &indices, int64_t axis,
                                   int64_t batchDims, int64_t extent) {
  int64_t indexAxes = indices.rank() - batchDims;
  SmallVector<int64_t> at(index.take_front(batchDims)), from(index.take_front(axis));
  llvm::append_range(at, index.slice(axis, indexAxes));
  from.push_back(wrap(indices.at(at), extent));
  llvm::append_range(from, index.drop_front(axis + indexAxes));
  return from;
}

static Array evaluate(Evaluator &e, nn::GatherOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &input = e.at(op.getInput()), &indices = e.at(op.getIndices());
  int64_t axis = op.getAxis(), extent = input.shape[axis];
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    result.at(index) = input.at(source(index, indices, axis, op.getBatchDims(), extent));
  });
  return result;
}

static Array evaluate(Evaluator &e, nn::ScatterAddOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  const Array &updates = e.at(op.getUpdates()), &indices = e.at(op.getIndices());
  int64_t axis = op.getAxis(), extent = result.shape[axis];
  forEachIndex(updates.shape, [&](ArrayRef<int64_t> index) {
    result.at(source(index, indices, axis, op.getBatchDims(), extent)) += updates.at(index);
  });
  return result;
}

/// `index` with the element that `indices` has there on `axis`.
static SmallVector<int64_t> along(ArrayRef<int64_t> index, const Array &indices, int64_t axis,
                                  int64_t extent) {
  SmallVector<int64_t> at(index);
  at[axis] = wrap(indices.at(index), extent);
  return at;
}

bool evaluateGather(Evaluator &e, Operation *op) {
  if (auto gather = dyn_cast<nn::GatherOp>(op)) {
    e.set(gather, evaluate(e, gather));
  } else if (auto scatter = dyn_cast<nn::ScatterAddOp>(op)) {
    e.set(scatter, evaluate(e, scatter));
  } else if (auto elements = dyn_cast<nn::GatherElementsOp>(op)) {
    Array result = Array::zeros(e.shapeOf(elements));
    const Array &input = e.at(elements.getInput()), &indices = e.at(elements.getIndices());
    int64_t axis = elements.getAxis();
    forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
      result.at(index) = input.at(along(index, indices, axis, input.shape[axis]));
    });
    e.set(elements, std::move(result));
  } else if (auto add = dyn_cast<nn::ScatterElementsAddOp>(op)) {
    Array result = Array::zeros(e.shapeOf(add));
    const Array &updates = e.at(add.getUpdates()), &indices = e.at(add.getIndices());
    int64_t axis = add.getAxis();
    forEachIndex(updates.shape, [&](ArrayRef<int64_t> index) {
      result.at(along(index, indices, axis, result.shape[axis])) += updates.at(index);
    });
    e.set(add, std::move(result));
  } else {
    return false;
  }
  return true;
}

} // namespace accum::test
