// SPDX-License-Identifier: Apache-2.0
// Pre-pass, prologue and micro-steps, one after the other.
#include "test/passes/Differentiate/StepRun.h"
#include <algorithm>
#include <cmath>

namespace accum::test {
namespace {

void add(Array &sum, const Array &term) {
  if (sum.data.empty())
    sum = Array::zeros(term.shape);
  for (size_t i = 0; i < sum.data.size(); ++i)
    sum.data[i] += term.data[i];
}

std::string nameOf(mlir::Attribute target) {
  if (auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(target))
    return symbol.getValue().str();
  return mlir::cast<mlir::StringAttr>(target).str();
}

train::YieldOp runBlock(mlir::Block &block, llvm::ArrayRef<Array> arguments, Evaluator &values) {
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values.set(argument, value);
  values.run(block.getOperations());
  return mlir::cast<train::YieldOp>(block.getTerminator());
}

class StepRun {
public:
  StepRun(train::StepOp step, const StepData &data, int64_t m) : step(step), data(data), m(m) {}

  Sums run() {
    std::vector<Array> totals, prologue;
    overBatch(step.getPrepass(), {}, [&](train::YieldOp yield, Evaluator &values) {
      totals.resize(yield.getValues().size());
      for (auto [total, value] : llvm::zip(totals, yield.getValues()))
        add(total, values.at(value));
    });
    if (!step.getPrologue().empty()) {
      Evaluator values({1, 0, {}, data.parameters});
      train::YieldOp yield = runBlock(step.getPrologue().front(), totals, values);
      for (mlir::Value value : yield.getValues())
        prologue.push_back(values.at(value));
    }
    std::vector<Array> replicated = totals;
    replicated.insert(replicated.end(), prologue.begin(), prologue.end());
    Sums sums;
    overBatch(step.getMicro(), replicated, [&](train::YieldOp yield, Evaluator &values) {
      for (auto [target, value] : llvm::zip_equal(yield.getTargets(), yield.getValues()))
        add(sums[nameOf(target)], values.at(value));
    });
    return sums;
  }

private:
  void overBatch(mlir::Region &region, llvm::ArrayRef<Array> replicated,
                 llvm::function_ref<void(train::YieldOp, Evaluator &)> visit) {
    for (int64_t first = 0; first < data.samples && !region.empty(); first += m) {
      std::vector<Array> arguments = inputs(first);
      arguments.insert(arguments.end(), replicated.begin(), replicated.end());
      Evaluator values({m, first, {}, data.parameters});
      train::YieldOp yield = runBlock(region.front(), arguments, values);
      visit(yield, values);
    }
  }

  std::vector<Array> inputs(int64_t first) {
    std::vector<Array> arrays;
    for (auto input : step.getInputs().getAsRange<mlir::DictionaryAttr>()) {
      std::string name = input.getAs<mlir::StringAttr>("name").str();
      if (name == "first_row")
        arrays.push_back({{}, {static_cast<double>(first)}});
      else if (name == "rng")
        arrays.push_back({{3}, {0, 0, 0}});
      else
        arrays.push_back(name == "valid" ? valid(first) : rows(data.inputs.at(name), first));
    }
    return arrays;
  }

  Array valid(int64_t first) const {
    Array array = Array::zeros({m});
    for (int64_t row = 0; row < m; ++row)
      array.data[row] = first + row < data.samples;
    return array;
  }

  Array rows(const Array &all, int64_t first) const {
    Array some = all;
    some.shape[0] = m;
    int64_t size = static_cast<int64_t>(all.data.size()) / all.shape[0];
    some.data.clear();
    for (int64_t row = first; row < first + m; ++row) {
      auto begin = all.data.begin() + std::min(row, data.samples - 1) * size;
      some.data.insert(some.data.end(), begin, begin + size);
    }
    return some;
  }

  train::StepOp step;
  const StepData &data;
  int64_t m;
};
} // namespace

Sums runStep(mlir::ModuleOp module, const StepData &data, int64_t m) {
  return StepRun(module.lookupSymbol<train::StepOp>("step"), data, m).run();
}

double largest(const Array &array) {
  double result = 0;
  for (double x : array.data)
    result = std::max(result, std::abs(x));
  return result;
}

double relativeError(const Array &array, const Array &expected) {
  if (array.shape != expected.shape)
    return INFINITY;
  double difference = 0;
  for (auto [a, b] : llvm::zip_equal(array.data, expected.data))
    difference = std::max(difference, std::abs(a - b));
  return difference / std::max(largest(expected), 1e-30);
}

} // namespace accum::test
