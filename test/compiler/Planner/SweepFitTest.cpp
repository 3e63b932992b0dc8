// SPDX-License-Identifier: Apache-2.0
// Packing in order of time: valid whatever is asked for, and near the load where a stack is not.
#include "compiler/Planner/Packing/SweepFit.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

/// Each lives together with the next one only, and is one larger.
std::vector<Rectangle> chain(int count) {
  std::vector<Rectangle> rectangles;
  for (int index = 0; index < count; ++index)
    rectangles.push_back({index, index + 2, index + 1});
  return rectangles;
}

/// Three live at once; every other one stands where it is given, on the floor or at twice the size.
std::vector<Restriction> everyOther(int count) {
  std::vector<Restriction> restrictions(static_cast<size_t>(count));
  for (int index = 0; index < count; index += 2)
    restrictions[static_cast<size_t>(index)].offset = int64_t{5} * (index % 4);
  return restrictions;
}

std::vector<Rectangle> threeAtOnce(int count) {
  std::vector<Rectangle> rectangles;
  for (int index = 0; index < count; ++index)
    rectangles.push_back({index, index + 3, 5});
  return rectangles;
}

TEST(SweepFit, IsValid) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    auto rectangles = randomRectangles(random, static_cast<int>(draw(random, 1, 60)), 30, 50);
    ASSERT_TRUE(isPacking(rectangles, sweepFit(rectangles))) << "round " << round;
  }
}

TEST(SweepFit, KeepsAlignmentsAndOffsets) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    auto rectangles = randomRectangles(random, static_cast<int>(draw(random, 1, 60)), 30, 50);
    std::vector<Restriction> restrictions(rectangles.size());
    Packing given = sweepFit(rectangles);
    for (size_t index = 0; index < rectangles.size(); ++index)
      if (draw(random, 0, 3) == 0 && round % 2 == 0)
        restrictions[index].offset = given.offsets[index] + 7;
      else
        restrictions[index].alignment = draw(random, 1, 9);
    Packing packing = sweepFit(rectangles, restrictions);
    ASSERT_TRUE(isPacking(rectangles, packing)) << "round " << round;
    for (size_t index = 0; index < rectangles.size(); ++index) {
      ASSERT_EQ(packing.offsets[index] % restrictions[index].alignment, 0) << "round " << round;
      if (restrictions[index].offset >= 0)
        ASSERT_EQ(packing.offsets[index], restrictions[index].offset) << "round " << round;
    }
  }
}

/// A stack of these is as high as all of them together, a thousand times the load.
TEST(SweepFit, ComesBeforeAnyDeadline) {
  auto rectangles = chain(3000);
  PackingEffort effort{.visits = 0, .deadline = Deadline::in(-1)};
  Packing packing = pack(rectangles, effort);
  EXPECT_TRUE(isPacking(rectangles, packing));
  EXPECT_LT(packing.height, 2 * packing.lowerBound);
  auto few = threeAtOnce(3001);
  Packing restricted = packRestricted(few, everyOther(3001), effort);
  EXPECT_TRUE(isPacking(few, restricted));
  EXPECT_LE(restricted.height, 20);
}

/// Too many for every pass that looks at pairs or neighbours.
TEST(SweepFit, PacksWhatIsTooMuchForTheOthers) {
  auto rectangles = threeAtOnce(22'001);
  Packing packing = packRestricted(rectangles, everyOther(22'001), {.visits = 0});
  EXPECT_TRUE(isPacking(rectangles, packing));
  EXPECT_LE(packing.height, 20);
}

} // namespace
