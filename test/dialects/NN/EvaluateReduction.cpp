// SPDX-License-Identifier: Apache-2.0
// Reductions and scans, one line of elements at a time.
#include "test/dialects/NN/Evaluator.h"
#include <limits>
#include <numeric>

using namespace mlir;
using Kind = accum::nn::ReduceKind;

namespace accum::test {

static double startOf(Kind kind) {
  double infinity = std::numeric_limits<double>::infinity();
  return kind == Kind::sum ? 0 : kind == Kind::prod ? 1 : kind == Kind::max ? -infinity : infinity;
}

static double combine(Kind kind, double a, double b) {
  switch (kind) {
  case Kind::sum:
    return a + b;
  case Kind::prod:
    return a * b;
  case Kind::max:
    return std::max(a, b);
  case Kind::min:
    return std::min(a, b);
  }
  llvm_unreachable("all kinds handled");
}

static Array evaluate(Evaluator &e, nn::ReduceOp op) {
  const Array &input = e.at(op.getInput());
  Array result = Array::zeros(e.shapeOf(op));
  std::fill(result.data.begin(), result.data.end(), startOf(op.getKind()));
  forEachIndex(input.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> kept;
    for (auto [axis, i] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis)))
        kept.push_back(i);
    double &y = result.at(kept);
    y = combine(op.getKind(), y, input.at(index));
  });
  return result;
}

/// Calls visit(line's index with 0 at `axis`, its elements).
static void forEachLine(const Array &input, int64_t axis,
                        function_ref<void(ArrayRef<int64_t>, ArrayRef<double>)> visit) {
  SmallVector<int64_t> lines(input.shape);
  lines[axis] = 1;
  forEachIndex(lines, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(index);
    std::vector<double> line;
    for (at[axis] = 0; at[axis] < input.shape[axis]; ++at[axis])
      line.push_back(input.at(at));
    visit(index, line);
  });
}

static std::vector<int64_t> sortedIndices(ArrayRef<double> line, bool smallest) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return line[a] == line[b] ? a < b : smallest ? line[a] < line[b] : line[a] > line[b];
  });
  return order;
}

static Array evaluate(Evaluator &e, nn::ArgReduceOp op) {
  Array result = Array::zeros(e.shapeOf(op));
  forEachLine(e.at(op.getInput()), op.getAxis(), [&](ArrayRef<int64_t> index, ArrayRef<double> line) {
    SmallVector<int64_t> at(index);
    at.erase(at.begin() + op.getAxis());
    result.at(at) = sortedIndices(line, op.getKind() == Kind::min)[0];
  });
  return result;
}

static void runningLog(ArrayRef<double> line, nn::CumSumOp op, Array &result, SmallVector<int64_t> at) {
  double log = -std::numeric_limits<double>::infinity();
  int64_t n = line.size();
  for (int64_t k = 0; k < n; ++k) {
    at[op.getAxis()] = op.getReverse() ? n - 1 - k : k;
    double x = line[at[op.getAxis()]], top = std::max(log, x);
    log = std::isinf(top) ? top : top + std::log(std::exp(log - top) + std::exp(x - top));
    result.at(at) = log;
  }
}

static Array evaluate(Evaluator &e, nn::CumSumOp op) {
  Array result = e.at(op.getInput());
  forEachLine(e.at(op.getInput()), op.getAxis(), [&](ArrayRef<int64_t> index, ArrayRef<double> line) {
    SmallVector<int64_t> at(index);
    int64_t n = line.size();
    if (op.getLog())
      return runningLog(line, op, result, at);
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      at[op.getAxis()] = op.getReverse() ? n - 1 - k : k;
      double x = line[at[op.getAxis()]];
      result.at(at) = op.getExclusive() ? sum : sum + x;
      sum += x;
    }
  });
  return result;
}

static void evaluate(Evaluator &e, nn::TopKOp op) {
  Array values = Array::zeros(e.shapeOf(op.getValues())), indices = Array::zeros(e.shapeOf(op.getIndices()));
  forEachLine(e.at(op.getInput()), op.getAxis(), [&](ArrayRef<int64_t> index, ArrayRef<double> line) {
    SmallVector<int64_t> at(index);
    std::vector<int64_t> order = sortedIndices(line, op.getSmallest());
    for (int64_t k = 0; k < static_cast<int64_t>(op.getK()); ++k) {
      at[op.getAxis()] = k;
      indices.at(at) = order[k];
      values.at(at) = line[order[k]];
    }
  });
  e.set(op.getValues(), std::move(values));
  e.set(op.getIndices(), std::move(indices));
}

bool evaluateReduction(Evaluator &e, Operation *op) {
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    e.set(reduce, evaluate(e, reduce));
  else if (auto arg = dyn_cast<nn::ArgReduceOp>(op))
    e.set(arg, evaluate(e, arg));
  else if (auto scan = dyn_cast<nn::CumSumOp>(op))
    e.set(scan, evaluate(e, scan));
  else if (auto top = dyn_cast<nn::TopKOp>(op))
    evaluate(e, top);
  else
    return false;
  return true;
}

} // namespace accum::test
