// SPDX-License-Identifier: Apache-2.0
// Units are there when they are needed, beside each other, and no longer than the rule says.
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accum::planner;

namespace {

using Uses = std::vector<std::vector<size_t>>;

Uses drawUses(std::mt19937 &random, size_t units) {
  Uses uses(1 + random() % 40);
  for (auto &at : uses)
    for (size_t unit = 0; unit < units; ++unit)
      if (random() % 4 == 0)
        at.push_back(unit);
  return uses;
}

void expectPlaced(const UnitSchedule &schedule, const Uses &uses, const std::vector<int64_t> &bytes) {
  for (size_t position = 0; position < uses.size(); ++position) {
    int64_t load = 0;
    for (const UnitSpan &span : schedule.spans) {
      if (position < span.begin || position > span.end)
        continue;
      load += span.bytes;
      EXPECT_LE(span.offset + span.bytes, schedule.bytes);
      for (const UnitSpan &other : schedule.spans)
        if (&other != &span && position >= other.begin && position <= other.end) {
          EXPECT_NE(other.unit, span.unit);
          EXPECT_TRUE(other.offset + other.bytes <= span.offset || span.offset + span.bytes <= other.offset);
        }
    }
    EXPECT_LE(load, schedule.bytes);
    for (size_t unit : uses[position]) {
      const UnitSpan *span = schedule.at(unit, position);
      ASSERT_TRUE(span) << "unit " << unit << " at " << position;
      EXPECT_EQ(span->bytes, bytes[unit]);
    }
  }
}

} // namespace

TEST(Gathering, UnitsAreThereWhenTheyAreNeeded) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    size_t units = 1 + random() % 6;
    std::vector<int64_t> bytes(units);
    for (int64_t &each : bytes)
      each = 256 * (1 + int64_t(random() % 9));
    Uses uses = drawUses(random, units);
    expectPlaced(gatherUnits(uses, bytes), uses, bytes);
    UnitSchedule scattered = scatterUnits(uses, bytes);
    expectPlaced(scattered, uses, bytes);
    for (const UnitSpan &span : scattered.spans) // once each
      EXPECT_EQ(std::ranges::count(scattered.spans, span.unit, &UnitSpan::unit), 1);
  }
}

TEST(Gathering, LayersComeAndGo) {
  // Forward over units 0, 1, 2 and back again; unit 3 at both ends.
  UnitSchedule schedule = gatherUnits({{3}, {0}, {1}, {2}, {2}, {1}, {0}, {3}}, {100, 100, 100, 500});
  EXPECT_EQ(schedule.spans.size(), 6u); // unit 2 stays in the middle, and 1 with only that between
  EXPECT_EQ(schedule.bytes, 500);
}

TEST(Units, CoverAllParametersInOrder) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> bytes(random() % 50);
    for (int64_t &each : bytes)
      each = 256 * (1 + int64_t(random() % (1 << (random() % 20))));
    std::vector<int64_t> units = shardUnits(bytes);
    EXPECT_EQ(std::accumulate(units.begin(), units.end(), int64_t(0)), int64_t(bytes.size()));
    EXPECT_TRUE(std::ranges::all_of(units, [](int64_t count) { return count > 0; }));
    EXPECT_LE(units.size(), 1 + bytes.size());
    int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t(0)),
            padded = unitBytes(bytes, units, 3);
    EXPECT_GE(padded, all);
    std::vector<UnitSize> sizes = unitSizes(bytes, units, 3);
    int64_t most = all;
    for (const UnitSize &size : sizes) {
      EXPECT_EQ(size.bytes % (3 * size.pieces * 256), 0);
      EXPECT_TRUE(size.pieces >= 1 && size.pieces <= kMostPieces);
      most += 3 * size.pieces * 256;
    }
    EXPECT_LE(padded, most);
  }
}
