// SPDX-License-Identifier: Apache-2.0
// The phases of a step up to its update, one after the other.
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

class StepRun {
public:
  StepRun(train::StepOp step, const StepData &data, int64_t m) : step(step), data(data), m(m) {}

  Sums run() {
    Sums sums, totals;
    for (train::PhaseOp phase : step.getPhases()) {
      if (phase.getLoop())
        (phase == step.getMainLoop() ? sums : totals) = runLoop(phase);
      else if (!phase.updates())
        runOnce(phase);
    }
    return sums;
  }

private:
  Sums runLoop(train::PhaseOp phase) {
    Sums sums;
    for (int64_t first = 0; first < data.samples; first += m) {
      Evaluator values({m, first, {}, data.parameters});
      run(phase, inputs(first), values);
      for (auto [target, value] :
           llvm::zip_equal(phase.getYield().getTargets(), phase.getYield().getValues()))
        add(sums[nameOf(target)], values.at(value));
    }
    for (auto [target, result] : llvm::zip_equal(phase.getAccumulators(), phase->getResults()))
      known[result] = sums[nameOf(target)];
    return sums;
  }

  void runOnce(train::PhaseOp phase) {
    Evaluator values({1, 0, {}, data.parameters});
    run(phase, {}, values);
    for (auto [result, value] : llvm::zip_equal(phase->getResults(), phase.getYield().getValues()))
      known[result] = values.at(value);
  }

  void run(train::PhaseOp phase, llvm::ArrayRef<Array> inputs, Evaluator &values) {
    for (auto [argument, value] : llvm::zip_equal(phase.getBlock().getArguments(), phase.getCaptures())) {
      auto input = mlir::dyn_cast<mlir::BlockArgument>(value);
      values.set(argument, input ? inputs[input.getArgNumber()] : known.lookup(value));
    }
    values.run(phase.getBlock().getOperations());
  }

  std::vector<Array> inputs(int64_t first) {
    std::vector<Array> arrays;
    for (auto input : step.getInputs().getAsRange<mlir::DictionaryAttr>()) {
      std::string name = input.getAs<mlir::StringAttr>("name").str();
      if (name == "first_row")
        arrays.push_back({{}, {static_cast<double>(first)}});
      else if (name == "rng")
        arrays.push_back({{3}, {0, 0, 0}});
      else if (name == "hyper")
        arrays.push_back(Array::zeros({8}));
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
  llvm::DenseMap<mlir::Value, Array> known; ///< results of phases
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
