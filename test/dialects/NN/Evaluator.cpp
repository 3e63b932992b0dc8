// SPDX-License-Identifier: Apache-2.0
// Arrays, dispatch, and the ops that cutting the batch adds.
#include "test/dialects/NN/Evaluator.h"
#include <cmath>
#include <numbers>

using namespace mlir;

namespace accum::test {

static int64_t productOf(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

Array Array::zeros(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape), std::vector<double>(productOf(shape))};
}

double &Array::at(ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [i, extent] : llvm::zip_equal(index, shape)) {
    if (i < 0 || i >= extent)
      llvm::report_fatal_error("index outside an array");
    offset = offset * extent + i;
  }
  return data[offset];
}

void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size());
  for (int64_t n = productOf(shape); n > 0; --n) {
    visit(index);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
  }
}

SmallVector<int64_t> Evaluator::shapeOf(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (nn::Placement placement = nn::Placement::of(type); placement.isBatched())
    shape[placement.dim] *= batch.samples;
  if (auto extent = dyn_cast_or_null<nn::ExtentAttr>(type.getEncoding()))
    for (int64_t dim : extent.getDims())
      shape[dim] *= batch.samples;
  return shape;
}

void Evaluator::set(Value value, Array array) {
  if (array.shape != shapeOf(value))
    llvm::report_fatal_error("array of another shape than its value");
  values[value] = std::move(array);
}

const Array &Evaluator::at(Value value) const {
  auto it = values.find(value);
  if (it == values.end())
    llvm::report_fatal_error("value was not computed");
  return it->second;
}

void Evaluator::run(Operation *op) {
  bool done = evaluateElementwise(*this, op) || evaluateContraction(*this, op) ||
              evaluateReduction(*this, op) || evaluateNorm(*this, op) || evaluateShape(*this, op) ||
              evaluateGather(*this, op) || evaluateAttention(*this, op) || evaluateAccumulation(*this, op);
  if (!done)
    llvm::report_fatal_error(llvm::Twine("no evaluation of ") + op->getName().getStringRef());
}

void Evaluator::run(Block::OpListType &ops) {
  for (Operation &op : ops)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      run(&op);
}

static Array maskRows(const Array &input, const Array &valid, int64_t dim, int64_t outer) {
  Array result = input;
  int64_t samples = valid.shape[0], rows = input.shape[dim] / samples / outer;
  forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
    if (valid.data[index[dim] / rows % samples] == 0)
      result.at(index) = 0;
  });
  return result;
}

/// A stand-in for the real generator with its key: (op, sample of the global batch, element of the slab).
static double uniform(uint64_t key, uint64_t sample, uint64_t element) {
  uint64_t x = key * 0x9E3779B97F4A7C15u + sample * 0xBF58476D1CE4E5B9u + element * 0x94D049BB133111EBu;
  for (int i = 0; i < 3; ++i)
    x = (x ^ (x >> 31)) * 0xD6E8FEB86659FD93u;
  return static_cast<double>(x >> 11) / 9007199254740992.0;
}

/// What `op` draws for the element at `index` of the whole value; `stream` tells several draws apart.
template <class Op>
static double uniformAt(Op op, ArrayRef<int64_t> shape, ArrayRef<int64_t> index, const Batch &batch,
                        uint64_t stream = 0) {
  uint64_t sample = 0, element = 0;
  int64_t dim = op.getDim() ? static_cast<int64_t>(*op.getDim()) : -1;
  for (auto [axis, i] : llvm::enumerate(index)) {
    int64_t extent = shape[axis], j = i;
    if (static_cast<int64_t>(axis) == dim) {
      int64_t rows = *op.getRows();
      sample = batch.firstRow + i / rows % batch.samples;
      j = i / (rows * batch.samples) * rows + i % rows;
      extent /= batch.samples;
    }
    element = element * extent + j;
  }
  return uniform(op.getKey() + 31 * stream, sample, element);
}

static Array dropOut(nn::DropoutOp op, const Array &input, const Batch &batch) {
  Array result = input;
  double ratio = op.getRatio().convertToDouble();
  forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
    bool kept = uniformAt(op, input.shape, index, batch) >= ratio;
    result.at(index) = kept ? input.at(index) / (1 - ratio) : 0;
  });
  return result;
}

static Array draw(nn::RandomOp op, Array result, const Batch &batch) {
  double ratio = op.getRatio() ? op.getRatio()->convertToDouble() : 0;
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double first = uniformAt(op, result.shape, index, batch);
    double second = uniformAt(op, result.shape, index, batch, 1);
    double normal = std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * std::numbers::pi * second);
    double mask = first >= ratio ? 1 / (1 - ratio) : 0;
    result.at(index) = op.getKind() == nn::RandomKind::uniform  ? first
                       : op.getKind() == nn::RandomKind::normal ? normal
                                                                : mask;
  });
  return result;
}

bool evaluateAccumulation(Evaluator &e, Operation *op) {
  if (auto total = dyn_cast<nn::TotalOp>(op)) {
    e.set(total, e.batch.total ? e.batch.total(total) : e.at(total.getInput()));
  } else if (auto mask = dyn_cast<nn::MaskRowsOp>(op)) {
    e.set(mask, maskRows(e.at(mask.getInput()), e.at(mask.getValid()), mask.getDim(), mask.getOuter()));
  } else if (auto share = dyn_cast<nn::ShareOp>(op)) {
    const Array &input = e.at(share.getInput());
    e.set(share, e.batch.firstRow == 0 ? input : Array::zeros(input.shape));
  } else if (auto size = dyn_cast<nn::BatchSizeOp>(op)) {
    e.set(size, {{}, {static_cast<double>(e.batch.samples)}});
  } else if (auto dropout = dyn_cast<nn::DropoutOp>(op)) {
    e.set(dropout, dropOut(dropout, e.at(dropout.getInput()), e.batch));
  } else if (auto random = dyn_cast<nn::RandomOp>(op)) {
    e.set(random, draw(random, Array::zeros(e.shapeOf(random)), e.batch));
  } else if (auto load = dyn_cast<train::LoadParamOp>(op)) {
    e.set(load.getResult(), e.batch.parameters.at(load.getParam().str()));
  } else {
    return false;
  }
  return true;
}

} // namespace accum::test
