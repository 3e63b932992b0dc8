// SPDX-License-Identifier: Apache-2.0
// Which rectangle a valley takes first, worked out by hand.
#include "compiler/Planner/Packing/ValleyFit.h"
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

/// Packs `a` and `b` into a valley from 0 to 10, which a third, of next to no weight, fills; true where `a`
/// is below `b`.
bool isFirst(Rectangle a, Rectangle b, double weight, const ValleyFit::Closeness &closeness) {
  std::vector<Rectangle> rectangles = {a, b, {0, 10, 1}};
  std::vector<double> weights = {weight, 1, 1e-9};
  Packing packing = ValleyFit(rectangles).pack(weights, 1000, closeness);
  EXPECT_EQ(packing.height, a.size + b.size + 1);
  return packing.offsets[0] < packing.offsets[1];
}

TEST(ValleyFit, TakesTheHighestWeightWhereGapsDoNotCount) {
  EXPECT_FALSE(isFirst({0, 8, 4}, {1, 9, 4}, 0.9, {}));
  EXPECT_TRUE(isFirst({0, 8, 4}, {1, 9, 4}, 1.1, {}));
}

TEST(ValleyFit, CountsTheSmallerGapAndAShareOfTheLarger) {
  for (Rectangle beside : {Rectangle{0, 8, 4}, Rectangle{2, 10, 4}}) {
    // 1 against 1 / (1 + 1)
    EXPECT_TRUE(isFirst(beside, {1, 9, 4}, 0.6, {.scale = 1}));
    EXPECT_FALSE(isFirst(beside, {1, 9, 4}, 0.4, {.scale = 1}));
    // 1 / (1 + 2 * 2) against 1 / (1 + 1 + 2 * 1)
    EXPECT_TRUE(isFirst(beside, {1, 9, 4}, 1.3, {.scale = 1, .both = 2}));
    EXPECT_FALSE(isFirst(beside, {1, 9, 4}, 1.2, {.scale = 1, .both = 2}));
    // 1 / (1 + 2 * 2 / 4) against 1 / (1 + (1 + 2 * 1) / 4)
    EXPECT_TRUE(isFirst(beside, {1, 9, 4}, 1.2, {.scale = 4, .both = 2}));
    EXPECT_FALSE(isFirst(beside, {1, 9, 4}, 1.1, {.scale = 4, .both = 2}));
  }
}

TEST(ValleyFit, PlacesWhatHasNoWeight) {
  std::vector<Rectangle> rectangles = {{0, 2, 3}, {1, 3, 4}, {0, 1, 2}};
  Packing packing = ValleyFit(rectangles).pack(std::vector<double>(3, 0.0), 1000, {.scale = 1});
  EXPECT_LE(packing.height, 9);
  EXPECT_GE(packing.height, 7);
}

TEST(ValleyFit, CountsWhatFillsTheValleyDouble) {
  EXPECT_TRUE(isFirst({0, 10, 4}, {1, 9, 4}, 0.6, {}));
  EXPECT_FALSE(isFirst({0, 10, 4}, {1, 9, 4}, 0.4, {}));
}

} // namespace
