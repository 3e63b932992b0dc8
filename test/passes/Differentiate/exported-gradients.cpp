// SPDX-License-Identifier: Apache-2.0
// Steps of real exports, interpreted in f64: every gradient is PyTorch's, and the same however the batch is
// cut.
#include "mlir/Pass/PassManager.h"
#include "passes/Differentiate/Passes.h"
#include "test/compiler/Import/ExportedModel.h"
#include "test/passes/Differentiate/StepRun.h"
#include <gtest/gtest.h>

using namespace accum;
using test::Array, test::Sums, test::largest, test::relativeError;

namespace {

/// Imported, checked and differentiated.
class DifferentiatedExport : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    ASSERT_EQ(model.problem, "");
    mlir::PassManager passes(&model.context);
    passes.addPass(createDifferentiate());
    ASSERT_TRUE(mlir::succeeded(passes.run(*model.module)));
    auto step = model.module->lookupSymbol<accum::train::StepOp>("step");
    data = {model.samples, {}, model.parameters()};
    for (auto input : step.getInputs().getAsRange<mlir::DictionaryAttr>()) {
      std::string name = input.getAs<mlir::StringAttr>("name").str();
      if (name != "valid" && name != "first_row" && name != "rng" && name != "hyper")
        data.inputs[name] = model.sample(name);
    }
  }
  Sums run(int64_t m) { return test::runStep(*model.module, data, m); }

  test::ExportedModel model{GetParam()};
  test::StepData data;
};

using ExportedGradients = DifferentiatedExport;

TEST_P(ExportedGradients, areThoseOfTheFramework) {
  Sums sums = run(model.samples);
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
  Sums whole = run(model.samples);
  for (int64_t m : {1, 2, 3}) {
    Sums cut = run(m);
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
