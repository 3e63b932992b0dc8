// SPDX-License-Identifier: Apache-2.0
// Steps of real exports, interpreted in f64: every gradient is PyTorch's, and the same however the batch is
// cut.
#include "mlir/Pass/PassManager.h"
#include "passes/Differentiate/Passes.h"
#include "test/compiler/Import/ExportedModel.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace accum;
using test::Array;

namespace {

/// Values that left the micro-steps, added up by target: "loss", or a parameter's symbol.
using Sums = std::map<std::string, Array>;

void add(Array &sum, const Array &term) {
  if (sum.data.empty())
    sum = Array::zeros(term.shape);
  for (size_t i = 0; i < sum.data.size(); ++i)
    sum.data[i] += term.data[i];
}

/// Interprets `train.step @step` on the samples of an export, m at a time.
class StepRun {
public:
  StepRun(test::ExportedModel &model, int64_t m) : model(model), m(m), parameters(model.parameters()) {
    step = model.module->lookupSymbol<train::StepOp>("step");
  }

  Sums run() {
    std::vector<Array> totals, prologue;
    overBatch(step.getPrepass(), {}, [&](train::YieldOp yield, test::Evaluator &values) {
      totals.resize(yield.getValues().size());
      for (auto [total, value] : llvm::zip(totals, yield.getValues()))
        add(total, values.at(value));
    });
    if (!step.getPrologue().empty()) {
      test::Evaluator values({1, 0, {}, parameters});
      train::YieldOp yield = runBlock(step.getPrologue().front(), totals, values);
      for (mlir::Value value : yield.getValues())
        prologue.push_back(values.at(value));
    }
    std::vector<Array> replicated = totals;
    replicated.insert(replicated.end(), prologue.begin(), prologue.end());
    Sums sums;
    overBatch(step.getMicro(), replicated, [&](train::YieldOp yield, test::Evaluator &values) {
      for (auto [target, value] : llvm::zip_equal(yield.getTargets(), yield.getValues()))
        add(sums[nameOf(target)], values.at(value));
    });
    return sums;
  }

private:
  static std::string nameOf(mlir::Attribute target) {
    if (auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(target))
      return symbol.getValue().str();
    return mlir::cast<mlir::StringAttr>(target).str();
  }

  static train::YieldOp runBlock(mlir::Block &block, llvm::ArrayRef<Array> arguments,
                                 test::Evaluator &values) {
    for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
      values.set(argument, value);
    values.run(block.getOperations());
    return mlir::cast<train::YieldOp>(block.getTerminator());
  }

  /// K runs of the region; spare rows of the last one repeat the last sample.
  void overBatch(mlir::Region &region, llvm::ArrayRef<Array> replicated,
                 llvm::function_ref<void(train::YieldOp, test::Evaluator &)> visit) {
    for (int64_t first = 0; first < model.samples && !region.empty(); first += m) {
      std::vector<Array> arguments = inputs(first);
      arguments.insert(arguments.end(), replicated.begin(), replicated.end());
      test::Evaluator values({m, first, {}, parameters});
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
        arrays.push_back({{2}, {0, 0}});
      else
        arrays.push_back(name == "valid" ? valid(first) : rows(model.sample(name), first));
    }
    return arrays;
  }

  Array valid(int64_t first) const {
    Array array = Array::zeros({m});
    for (int64_t row = 0; row < m; ++row)
      array.data[row] = first + row < model.samples;
    return array;
  }

  Array rows(const Array &all, int64_t first) const {
    Array some = all;
    some.shape[0] = m;
    int64_t size = static_cast<int64_t>(all.data.size()) / all.shape[0];
    some.data.clear();
    for (int64_t row = first; row < first + m; ++row) {
      auto begin = all.data.begin() + std::min(row, model.samples - 1) * size;
      some.data.insert(some.data.end(), begin, begin + size);
    }
    return some;
  }

  test::ExportedModel &model;
  int64_t m;
  std::map<std::string, Array> parameters;
  train::StepOp step;
};

double largest(const Array &array) {
  double result = 0;
  for (double x : array.data)
    result = std::max(result, std::abs(x));
  return result;
}

/// Largest difference over the largest magnitude.
double relativeError(const Array &array, const Array &expected) {
  if (array.shape != expected.shape)
    return INFINITY;
  double difference = 0;
  for (auto [a, b] : llvm::zip_equal(array.data, expected.data))
    difference = std::max(difference, std::abs(a - b));
  return difference / std::max(largest(expected), 1e-30);
}

/// Imported, checked and differentiated.
class DifferentiatedExport : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    ASSERT_EQ(model.problem, "");
    mlir::PassManager passes(&model.context);
    passes.addPass(createDifferentiate());
    ASSERT_TRUE(mlir::succeeded(passes.run(*model.module)));
  }
  test::ExportedModel model{GetParam()};
};

using ExportedGradients = DifferentiatedExport;

TEST_P(ExportedGradients, areThoseOfTheFramework) {
  Sums sums = StepRun(model, model.samples).run();
  for (auto &[target, gradient] : sums) {
    if (target == "loss")
      continue;
    Array expected = model.gradientOf(target);
    // A gradient that is zero in exact arithmetic (attention key biases) is noise in the reference.
    bool isNoise = largest(expected) < 1e-7 && largest(gradient) < 1e-7;
    EXPECT_LE(isNoise ? 0 : relativeError(gradient, expected), 1e-5) << target;
  }
  EXPECT_LE(relativeError(sums["loss"], {{}, model.reference("loss").data}), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, ExportedGradients, ::testing::ValuesIn(test::exportsWithReference()),
                         [](const auto &info) { return test::testName(info.param); });

using CutBatch = DifferentiatedExport;

TEST_P(CutBatch, givesTheSameStep) {
  Sums whole = StepRun(model, model.samples).run();
  for (int64_t m : {1, 2, 3}) {
    Sums cut = StepRun(model, m).run();
    for (auto &[target, gradient] : whole)
      if (largest(gradient) > 1e-12)
        EXPECT_LE(relativeError(cut[target], gradient), 1e-12) << target << " in micro-batches of " << m;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CutBatch,
                         ::testing::Values("bert-mlm-dynamo", "bert-classification-torchscript",
                                           "gpt2-torchscript-sdpa", "llama-dynamo-nomask"),
                         [](const auto &info) { return test::testName(info.param); });
} // namespace
