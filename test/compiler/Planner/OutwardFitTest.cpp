// SPDX-License-Identifier: Apache-2.0
// Outward in time: the stack of what lives against an array of bytes, and packings.
#include "compiler/Planner/OutwardFit.h"
#include "compiler/Planner/OutwardPasses.h"
#include "test/compiler/Planner/PackingInstances.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace accum::planner;

namespace {

/// Gaps are what nobody stands on, as long as they were free, between the neighbours that they name.
void expectGaps(const LivingStack &stack, const std::vector<int> &owners, const std::vector<int> &freeSince) {
  size_t found = 0;
  for (size_t from = 0; from < owners.size(); ++from) {
    if (owners[from] != LivingStack::kNone || (from > 0 && owners[from - 1] == LivingStack::kNone))
      continue;
    auto end = std::find_if(owners.begin() + static_cast<int64_t>(from), owners.end(),
                            [](int owner) { return owner != LivingStack::kNone; });
    auto gap = std::ranges::find(stack.gaps(), static_cast<int64_t>(from), &LivingStack::Gap::low);
    ASSERT_NE(gap, stack.gaps().end());
    ++found;
    ASSERT_EQ(gap->high, end - owners.begin());
    for (auto byte = gap->low; byte < gap->high; ++byte)
      ASSERT_GE(gap->since, freeSince[static_cast<size_t>(byte)]);
    ASSERT_EQ(stack.at(gap->below).top(), gap->low);
    ASSERT_EQ(stack.at(gap->above).offset, gap->high);
    ASSERT_EQ(stack.at(gap->below).gap, gap - stack.gaps().begin());
    ASSERT_EQ(static_cast<int>(gap->endBelow), stack.at(gap->below).end);
    ASSERT_EQ(static_cast<int>(gap->endAbove), stack.at(gap->above).end);
  }
  ASSERT_EQ(found, stack.gaps().size());
}

TEST(LivingStack, IsWhatAnArrayOfBytesHolds) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    constexpr int64_t kHeight = 60;
    LivingStack stack(kHeight);
    std::vector<int> owners(kHeight, LivingStack::kNone), freeSince(kHeight, 0), places;
    auto take = [&](int place) {
      places.push_back(place);
      for (int64_t byte = stack.at(place).offset; byte < stack.at(place).top(); ++byte)
        owners[static_cast<size_t>(byte)] = place;
    };
    take(stack.add(0, 0, 5, 50, LivingStack::kFloor));
    take(stack.add(1, 20, 10, 60, places.back()));
    stack.makeGaps(0);
    expectGaps(stack, owners, freeSince);
    for (int now = 1; now < 200; ++now) {
      if (!places.empty() && draw(random, 0, 2) == 0) {
        auto at = static_cast<size_t>(draw(random, 0, static_cast<int64_t>(places.size()) - 1));
        for (int64_t byte = stack.at(places[at]).offset; byte < stack.at(places[at]).top(); ++byte) {
          owners[static_cast<size_t>(byte)] = LivingStack::kNone;
          freeSince[static_cast<size_t>(byte)] = now;
        }
        stack.depart(places[at], now);
        places.erase(places.begin() + static_cast<int64_t>(at));
      } else if (!stack.gaps().empty()) {
        auto gap = static_cast<int>(draw(random, 0, static_cast<int64_t>(stack.gaps().size()) - 1));
        int64_t size = draw(random, 1, stack.gaps()[static_cast<size_t>(gap)].size());
        auto end = now + static_cast<int>(draw(random, 1, 50));
        take(stack.arrive(now, size, end, gap, draw(random, 0, 1) == 0));
        EXPECT_EQ(stack.at(places.back()).rectangle, now);
      }
      expectGaps(stack, owners, freeSince);
    }
  }
}

TEST(OutwardFit, PacksNearTheLoad) {
  int64_t all = 0, load = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    auto rectangles = scatteredRectangles(random, 4000, seed % 2 == 0 ? 400 : 1000);
    OutwardFit fit(rectangles);
    for (uint64_t noise : {0, 1}) {
      Packing packing = fit.pack(maxLoad(rectangles), noise, 100'000'000);
      EXPECT_TRUE(isPacking(rectangles, packing)) << seed;
      all += packing.height;
      load += maxLoad(rectangles);
    }
  }
  EXPECT_LT(static_cast<double>(all), 1.03 * static_cast<double>(load));
}

/// Two that begin as two others end fit only where each takes the place of its size; what is there at the
/// fullest moment ends in the order in which it is freed.
TEST(OutwardFit, LeavesNoGapWhereEndsFollowEachOther) {
  std::vector<Rectangle> rectangles;
  for (int index = 0; index < 50; ++index) {
    rectangles.push_back({0, 200 + index, 3 + index % 7});
    rectangles.push_back({200 + index, 400, 3 + index % 7});
  }
  Packing packing = OutwardFit(rectangles).pack(maxLoad(rectangles), 0, 1'000'000);
  EXPECT_TRUE(isPacking(rectangles, packing));
  EXPECT_EQ(packing.height, maxLoad(rectangles));
}

/// The large one finds two gaps of half its size, as the last to come is in between and fits elsewhere.
TEST(OutwardFit, MovesWhatIsInTheWay) {
  std::vector<Rectangle> rectangles = {{0, 10, 4}, {0, 6, 4}, {0, 10, 2}, {0, 10, 2}};
  rectangles.push_back({6, 20, 2});
  rectangles.push_back({10, 20, 4});
  rectangles.push_back({10, 20, 6});
  Packing packing = OutwardFit(rectangles).pack(12, 0, 1'000'000);
  EXPECT_TRUE(isPacking(rectangles, packing));
  EXPECT_EQ(packing.height, 12);
}

TEST(OutwardFit, IsAFunctionOfItsArguments) {
  Random random(3);
  auto rectangles = scatteredRectangles(random, 3000, 300);
  OutwardFit fit(rectangles);
  int64_t load = maxLoad(rectangles);
  Packing first = fit.pack(load, 7, 100'000'000), other = fit.pack(load, 8, 100'000'000);
  EXPECT_EQ(fit.pack(load, 7, 100'000'000).offsets, first.offsets);
  EXPECT_NE(other.offsets, first.offsets);
}

TEST(OutwardFit, EndsWithItsEffortAndAtTheDeadline) {
  Random random(4);
  auto rectangles = scatteredRectangles(random, 20'000, 2000);
  OutwardFit fit(rectangles), late(rectangles, Deadline::in(-1));
  EXPECT_EQ(fit.pack(maxLoad(rectangles), 0, 10'000).height, INT64_MAX);
  EXPECT_LT(fit.visited(), 100'000);
  EXPECT_EQ(late.pack(maxLoad(rectangles), 0, 1'000'000'000).height, INT64_MAX);
}

TEST(OutwardPasses, KeepTheLowest) {
  Random random(5);
  auto rectangles = scatteredRectangles(random, 5000, 1500);
  int64_t load = maxLoad(rectangles), visits = 100'000'000;
  Packing lowest = outwardPasses(rectangles, load, {.visits = visits}, visits);
  EXPECT_TRUE(isPacking(rectangles, lowest));
  EXPECT_LE(lowest.height, OutwardFit(rectangles).pack(load, 0, 100'000'000).height);
  EXPECT_LT(visits, 100'000'000);
  EXPECT_GT(visits, 80'000'000);
  int64_t few = 1000;
  EXPECT_EQ(outwardPasses(rectangles, load, {.visits = few}, few).height, INT64_MAX);
}

} // namespace
