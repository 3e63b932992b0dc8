// SPDX-License-Identifier: Apache-2.0
// Units are there when they are needed, beside each other, and no longer than the rule says.
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include "compiler/Planner/Time/TimeModel.h"
#include "compiler/Planner/Time/UnitTraffic.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

using namespace accum::planner;
using accum::Offload;
using accum::Shard;
using accum::Sharing;

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
  for (const UnitSpan &span : schedule.spans)
    EXPECT_TRUE(span.begin <= span.sent && span.sent <= span.first && span.first <= span.last &&
                span.last <= span.end && span.end < uses.size());
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
    std::vector<char> offloaded(units);
    for (char &each : offloaded)
      each = char(random() % 2);
    int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t(0)), least = 0;
    size_t sent = SIZE_MAX;
    for (int64_t room : {int64_t(0), all / 2, all, kAnyRoom}) {
      UnitSchedule gathered = gatherUnits(uses, bytes, {}, room), scattered = scatterUnits(uses, bytes, room);
      expectPlaced(gathered, uses, bytes);
      expectPlaced(scattered, uses, bytes);
      for (const UnitSpan &span : scattered.spans) // once each
        EXPECT_EQ(std::ranges::count(scattered.spans, span.unit, &UnitSpan::unit), 1);
      expectPlaced(gatherUnits(uses, bytes, {}, room, offloaded), uses, bytes);
      least = room == 0 ? gathered.bytes : least;
      EXPECT_LE(gathered.bytes, std::max(room, least));
      EXPECT_LE(gathered.spans.size(), sent) << "more room, more that stays";
      sent = gathered.spans.size();
    }
    EXPECT_EQ(gatherUnits(uses, bytes, {}, kAnyRoom).spans.size(), scatterUnits(uses, bytes).spans.size())
        << "with all the room there is, once each";
  }
}

TEST(Gathering, TheNextUnitComesWhileOneIsUsed) {
  Uses uses = {{0}, {0}, {1}, {1}, {2}, {2}, {1}, {0}};
  std::vector<int64_t> bytes = {100, 100, 100};
  auto begins = [](const UnitSchedule &schedule) {
    std::vector<size_t> all;
    for (const UnitSpan &span : schedule.spans)
      all.push_back(span.begin);
    return all;
  };
  UnitSchedule onDemand = gatherUnits(uses, bytes);
  EXPECT_EQ(onDemand.bytes, 200);
  EXPECT_EQ(begins(onDemand), (std::vector<size_t>{0, 2, 4, 7}));
  UnitSchedule ahead = gatherUnits(uses, bytes, {}, 300); // in the middle 1 stays beside 2 and 0
  EXPECT_EQ(ahead.bytes, 300);
  EXPECT_EQ(ahead.spans.size(), 3u) << "with that room nothing comes twice";
  EXPECT_EQ(begins(ahead), (std::vector<size_t>{0, 0, 2}));
}

TEST(Gathering, UnitsAreUpdatedOneByOne) {
  std::vector<int64_t> bytes = {100, 300, 200};
  UnitSchedule onDemand = updateUnits(bytes, 499), ahead = updateUnits(bytes, 500);
  EXPECT_EQ(onDemand.bytes, 300);
  EXPECT_EQ(ahead.bytes, 500) << "the largest pair of neighbours";
  for (size_t unit : {0, 1, 2}) {
    EXPECT_EQ(onDemand.spans[unit].begin, unit);
    EXPECT_EQ(ahead.spans[unit].begin, unit == 0 ? 0 : unit - 1);
    EXPECT_EQ(ahead.spans[unit].end, unit);
  }
}

TEST(Gathering, AnOffloadedPartIsReadBeforeItIsSent) {
  Uses uses = {{0}, {0}, {1}, {1}, {2}, {2}, {3}};
  std::vector<int64_t> bytes = {100, 100, 100, 100};
  using Moments = std::vector<std::pair<size_t, size_t>>;
  auto moments = [&](int64_t room) {
    Moments all;
    for (const UnitSpan &span : gatherUnits(uses, bytes, {}, room, {1, 1, 1, 1}).spans)
      all.emplace_back(span.begin, span.sent);
    return all;
  };
  EXPECT_EQ(moments(100), (Moments{{0, 0}, {2, 2}, {4, 4}, {6, 6}}));
  EXPECT_EQ(moments(200), (Moments{{0, 0}, {0, 2}, {2, 4}, {4, 6}})) << "read ahead, and sent on demand";
  // Unit 1 has nothing before it to be read beside.
  EXPECT_EQ(moments(300), (Moments{{0, 0}, {0, 2}, {0, 2}, {2, 4}}));
}

TEST(Gathering, GradientsGoWhileTheNextOnesAreAdded) {
  Uses adds = {{2}, {2}, {1}, {1}, {}, {0}, {}};
  std::vector<int64_t> bytes = {100, 100, 100};
  UnitSchedule atOnce = scatterUnits(adds, bytes), beside = scatterUnits(adds, bytes, 200);
  EXPECT_EQ(atOnce.bytes, 100);
  EXPECT_EQ(beside.bytes, 200);
  std::vector<size_t> ends;
  for (const UnitSpan &span : beside.spans)
    ends.push_back(span.end);
  EXPECT_EQ(ends, (std::vector<size_t>{3, 5, 6})) << "the next one's last term, or the micro-step's end";
}

TEST(Gathering, LayersComeAndGo) {
  // Forward over units 0, 1, 2 and back again; unit 3 at both ends.
  UnitSchedule schedule = gatherUnits({{3}, {0}, {1}, {2}, {2}, {1}, {0}, {3}}, {100, 100, 100, 500});
  // Unit 2 stays in the middle, 1 with only that between, and 0 in the room that unit 3 has at the ends.
  EXPECT_EQ(schedule.spans.size(), 5u);
  EXPECT_EQ(schedule.bytes, 500);
}

TEST(Gathering, ASmallUnitStays) {
  Uses uses = {{0, 3}, {1, 3}, {2, 3}, {0}, {1}, {2}, {0, 3}};
  EXPECT_EQ(gatherUnits(uses, {100, 100, 100, 1}, {0, 0, 0, 1}).spans.size(), 8u);
  // Without being told so it finds room but once.
  EXPECT_EQ(gatherUnits(uses, {100, 100, 100, 2}, {0, 0, 0, 1}).bytes, 102);
  EXPECT_EQ(gatherUnits(uses, {100, 100, 100, 1}).spans.size(), 8u);
}

TEST(Gathering, CopiesAreGatheredInTheirPlace) {
  // Two layers of a matrix and a scale: forward reads copies of matrices, and scales as they are.
  Problem problem;
  for (int64_t id = 0; id < 4; ++id)
    problem.commands.push_back({.id = id});
  for (int64_t layer : {0, 1}) {
    problem.parameters.push_back({.bytes = 4096, .label = "matrix", .copyReaders = {layer, 3 - layer}});
    problem.parameters.back().readAs = ReadAs::Copy;
    problem.parameters.push_back({.bytes = 256, .label = "scale", .readers = {layer}});
  }
  UnitLayout layout = unitsOf(problem.parameters, /*cutParameters=*/true, 2);
  EXPECT_EQ(layout.order, (std::vector<size_t>{0, 2, 1, 3}));
  EXPECT_EQ(layout.counts, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(layout.bytes, (std::vector<int64_t>{4096, 4096, 1024}));
  EXPECT_EQ(layout.isSmall, (std::vector<char>{0, 0, 1}));
  EXPECT_EQ(layout.copied, 2u);
  EXPECT_EQ(layout.copyBytes(), 4096);
  // Both matrices' copies, of half the bytes, stay; and the scales, as long as they are read.
  EXPECT_EQ(unitRooms(problem, {true, 2})->onDemand.gathered, 2048 + 2048 + 1024);
  // Updated whole, they come as they are: one, or two at once.
  problem.wholeUpdate = 1;
  EXPECT_EQ(unitRooms(problem, {true, 2})->onDemand.gathered, 2048 + 2048 + 1024);
  EXPECT_EQ(unitRooms(problem, {true, 2})->onDemand.scattered, 4096);
  EXPECT_EQ(unitRooms(problem, {true, 2})->next.gathered, 4096 + 4096);
  EXPECT_EQ(unitRooms(problem, {true, 2})->next.scattered, 4096 + 4096);
  layout = unitsOf(problem.parameters, /*cutParameters=*/false, 2);
  EXPECT_EQ(layout.order, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(layout.copied, 0u);
}

TEST(Gathering, FrozenUnitsComeWithTheTrainedOnes) {
  // Two layers of a frozen matrix and a trained one; forward and backward parts read both.
  Problem problem;
  for (int64_t id = 0; id < 4; ++id)
    problem.commands.push_back({.id = id});
  for (int64_t layer : {0, 1}) {
    problem.parameters.push_back({.bytes = 1024, .readers = {layer, 3 - layer}, .adders = {3 - layer}});
    problem.frozen.push_back({.bytes = 8192, .readers = {layer, 3 - layer}});
  }
  // Two others are needed before a layer's turn comes again: its own go, and come once more.
  EXPECT_EQ(unitRooms(problem, {true, 2})->onDemand.gathered, 1024 + 8192);
  EXPECT_EQ(unitRooms(problem, {true, 2})->onDemand.scattered, 1024);
  // Offloaded parameters come like that, too, whole.
  EXPECT_EQ(unitRooms(problem, {false, 1})->onDemand.gathered, 1024 + 8192);
}

TEST(Units, OfOneKindEach) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<Parameter> parameters(random() % 40);
    int64_t all = 0;
    for (Parameter &parameter : parameters) {
      all += parameter.bytes = 256 * (1 + int64_t(random() % (1 << (random() % 18))));
      parameter.readAs = static_cast<ReadAs>(random() % 3);
    }
    UnitLayout layout = unitsOf(parameters, /*cutParameters=*/true, 3);
    ASSERT_EQ(std::accumulate(layout.counts.begin(), layout.counts.end(), int64_t(0)),
              int64_t(parameters.size()));
    auto member = layout.order.begin();
    std::set<ReadAs> smallOnes;
    for (size_t unit = 0; unit < layout.counts.size(); ++unit) {
      ReadAs kind = parameters[*member].readAs;
      int64_t bytes = 0;
      for (auto end = member + layout.counts[unit]; member != end; ++member) {
        EXPECT_EQ(parameters[*member].readAs, kind);
        bytes += parameters[*member].bytes;
      }
      EXPECT_EQ(layout.isSmall[unit] != 0, bytes < std::min<int64_t>(all / 16, 32 << 20));
      if (layout.isSmall[unit] != 0)
        EXPECT_TRUE(smallOnes.insert(kind).second) << "one of a kind";
      EXPECT_EQ(kind != ReadAs::Itself, unit < layout.copied);
      EXPECT_EQ(layout.bytes[unit] % (3 * 256), 0);
    }
  }
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
      EXPECT_EQ(size.bytes % (3 * size.pieces * 512), 0);
      EXPECT_TRUE(size.pieces >= 1 && size.pieces <= kMostPieces);
      most += 3 * size.pieces * 512;
    }
    EXPECT_LE(padded, most);
  }
}

TEST(UnitTraffic, ByHand) {
  std::vector<int64_t> bytes = {100, 100};
  UnitTimeline timeline{2, gatherUnits({{0}, {1}}, bytes, {}, kAnyRoom), {}, {}};
  UnitRates gathers{[](int64_t size) { return double(size) / 50; }, {}, /*gathers=*/true, /*scatters=*/false};
  // The first unit is waited for; the second one comes meanwhile, in 2 s.
  EXPECT_EQ(unitTraffic(timeline, {3, 1}, gathers).gathering, (Traffic{4, 2}));
  EXPECT_EQ(unitTraffic(timeline, {1, 1}, gathers).gathering, (Traffic{4, 3}));
  UnitTimeline onDemand{2, gatherUnits({{0}, {1}}, bytes), {}, {}};
  EXPECT_EQ(unitTraffic(onDemand, {3, 1}, gathers).gathering, (Traffic{4, 4}));
  UnitRates fetches{{}, [](int64_t size) { return double(size) / 100; }};
  EXPECT_EQ(unitTraffic(timeline, {3, 1}, fetches).fetching, (Traffic{2, 1}));
  // Both are waited for for the first unit, and the second one's gathering; the third one's runs beside it.
  std::vector<int64_t> three = {100, 100, 100};
  UnitTimeline read{3, gatherUnits({{0}, {1}, {2}}, three, {}, kAnyRoom, {1, 1, 1}), {}, {}};
  UnitTraffic both = unitTraffic(read, {5, 5, 5}, {gathers.pass, fetches.fetch, true, false});
  EXPECT_EQ(both.fetching, (Traffic{3, 1}));
  EXPECT_EQ(both.gathering, (Traffic{6, 4}));
  // Each is waited for where the next one is final, and at the end.
  UnitTimeline sent{2, {}, scatterUnits({{0}, {1}, {}}, bytes, kAnyRoom), {}};
  UnitRates scatters{gathers.pass, {}, /*gathers=*/false, /*scatters=*/true};
  EXPECT_EQ(unitTraffic(sent, {1, 1, 1}, scatters).scattering, (Traffic{4, 2}));
}

TEST(UnitTraffic, OfCardsAsOfHosts) {
  // Two layers, one after the other; with room the second one's parameters come while the first one runs.
  Problem problem;
  for (int64_t id : {0, 1}) {
    problem.commands.push_back({.id = id, .variants = {{.bytes = {int64_t(1) << 32, 0, {}}}}});
    problem.parameters.push_back({.bytes = 1 << 20, .readers = {id}, .adders = {id}});
  }
  for (const char *name : {"h100", "host"}) {
    DeviceProfile profile = *loadProfile(name);
    Sharing zero3{Shard::Parameters, Offload::None, /*reduceEach=*/true};
    double pass = ringPass(profile, 2, 1 << 20), tie = 1e-9 * pass;
    TimeModel times(problem, profile, 2);
    EXPECT_NEAR(times.unitsAt(1, zero3)->exposed(), 4 * pass, tie) << name;
    UnitTraffic traffic = *times.unitsAt(1, zero3, {4 << 20, 4 << 20});
    EXPECT_NEAR(traffic.gathering.exposed, pass, tie) << name << ": the first one";
    EXPECT_NEAR(traffic.scattering.exposed, pass, tie) << name << ": the last one";
    EXPECT_NEAR(traffic.gathering.seconds + traffic.scattering.seconds, 4 * pass, tie);
  }
}
