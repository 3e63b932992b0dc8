// SPDX-License-Identifier: Apache-2.0
// No op has a placement rule without a padding rule.
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

} // namespace
} // namespace accum::lengths
