// SPDX-License-Identifier: Apache-2.0
// The loss of imported graphs is PyTorch's: import, recognise, check, then the f64 interpreter on seven
// ragged samples.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/compiler/Import/ExportedModel.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accum;
using test::Array;

namespace {
double evaluate(test::ExportedModel &model) {
  test::Evaluator evaluator({model.samples, 0, {}, model.parameters()});
  auto forward = model.module->lookupSymbol<mlir::func::FuncOp>("forward");
  for (mlir::BlockArgument argument : forward.getArguments()) {
    auto name = forward.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "train.name").str();
    if (name == "valid")
      evaluator.set(argument, {{model.samples}, std::vector<double>(model.samples, 1)});
    else if (name == "first_row")
      evaluator.set(argument, {{}, {0}});
    else
      evaluator.set(argument, model.sample(name));
  }
  evaluator.run(forward.getBody().front().getOperations());
  return evaluator.at(forward.getBody().front().getTerminator()->getOperand(0)).data[0];
}

class ImportedLoss : public ::testing::TestWithParam<std::string> {};

TEST_P(ImportedLoss, isThatOfTheFramework) {
  test::ExportedModel model(GetParam());
  ASSERT_EQ(model.problem, "");
  double expected = model.reference("loss").data[0];
  // The interpreter computes in f64; constants and weights were f32.
  EXPECT_NEAR(evaluate(model), expected, 2e-6 * std::abs(expected));
}

INSTANTIATE_TEST_SUITE_P(Models, ImportedLoss, ::testing::ValuesIn(test::exportsWithReference()),
                         [](const auto &info) { return test::testName(info.param); });
} // namespace
