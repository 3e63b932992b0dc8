// SPDX-License-Identifier: Apache-2.0
// No op has a placement rule without a padding rule; parts of constants that are too large for a table.
#include "passes/Lengths/Site.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace accum::lengths {
namespace {

TEST(PaddingRules, EveryOpHasOne) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect>();
  int ops = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "nn") {
      ++ops;
      EXPECT_TRUE(findRule(name.getStringRef())) << name.getStringRef().str();
    }
  EXPECT_GT(ops, 30);
}

/// As GPT-Neo keeps its causal order: a square of all positions, of which a size reads the beginning.
TEST(PaddingRules, PartsOfLargeConstantsAreTables) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  constexpr int64_t kPositions = 2048;
  auto type = RankedTensorType::get({kPositions, kPositions}, builder.getI1Type());
  llvm::SmallVector<bool> bits;
  for (int64_t n = 0; n < kPositions * kPositions; ++n)
    bits.push_back(n % kPositions <= n / kPositions);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto square = nn::ConstantOp::create(builder, loc, type, DenseElementsAttr::get(type, bits));
  EXPECT_FALSE(computeTable(square, {}));
  EXPECT_FALSE(cutTable(square));
  auto corner = RankedTensorType::get({2, 3}, builder.getI1Type());
  auto cut = nn::SliceOp::create(builder, loc, corner, square, builder.getDenseI64ArrayAttr({1, 0}),
                                 builder.getDenseI64ArrayAttr({1, 1}));
  std::optional<Table> table = cutTable(cut);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->data, (std::vector<double>{1, 1, 0, 1, 1, 1}));
}

} // namespace
} // namespace accum::lengths
