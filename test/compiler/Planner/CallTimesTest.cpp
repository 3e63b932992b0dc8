// SPDX-License-Identifier: Apache-2.0
// What tables alone do not say: threads that wait for the last piece, weights that come from memory.
#include "compiler/Planner/Problem/Recompute.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Time/TileSchedule.h"
#include "compiler/Planner/Time/TimeModel.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace accum::planner;

namespace {

using Point = std::array<double, 3>;

TEST(TileSchedule, ThreePiecesOnTwoThreadsTakeAsLongAsFour) {
  // 384 columns a tile: one, two and three tiles of equal size; 1024 columns are two of 352 and one of 320.
  EXPECT_EQ(unevenness("gemm-nn", "f32", Point{32, 384, 256}, 2), 2);
  EXPECT_EQ(unevenness("gemm-nn", "f32", Point{32, 768, 256}, 2), 1);
  EXPECT_DOUBLE_EQ(unevenness("gemm-nn", "f32", Point{32, 1152, 256}, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(unevenness("gemm-nn", "f32", Point{32, 1024, 256}, 2), (352.0 + 320) * 2 / 1024);
  EXPECT_EQ(unevenness("gemm-nn", "f32", Point{32, 384, 256}, 1), 1);
  EXPECT_EQ(unevenness("gemm-nn", "f32", Point{100000, 100000, 256}, 2), 1)
      << "so many that it does not matter";
  // Heads are units backward, blocks of 64 queries forward.
  EXPECT_DOUBLE_EQ(unevenness("attention-backward", "f32", Point{3, 256, 64}, 2), 4.0 / 3);
  EXPECT_EQ(unevenness("attention", "f32", Point{3, 256, 64}, 2), 1);
  CallShape grouped{"attention-backward-causal", {{.perSample = 1}, {8}, {3}, {128}, {128}, {64}, {64}}};
  EXPECT_DOUBLE_EQ(unevenness(grouped, "f32", 1, 1, 2), 4.0 / 3);
  EXPECT_EQ(unevenness(grouped, "f32", 2, 1, 2), 1);
  CallShape points{"gemm-nn", {{.perSample = 3}, {64}, {64}, {64}}};
  EXPECT_DOUBLE_EQ(unevenness(points, "f32", 1, 1, 2), 4.0 / 3) << "each point has tiles of its own";
  // In bf16 a tile has up to 768 columns, and attention's units are groups in both directions.
  EXPECT_EQ(unevenness("gemm-nn", "bf16", Point{32, 1152, 256}, 2), 1);
  EXPECT_EQ(unevenness("gemm-nn", "f32", Point{16, 2304, 256}, 2), 1);
  EXPECT_DOUBLE_EQ(unevenness("gemm-nn", "bf16", Point{16, 2304, 256}, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(unevenness("attention", "bf16", Point{3, 256, 64}, 2), 4.0 / 3);
}

TEST(TileSchedule, IsAtLeastOneAndPiecesAreTheWork) {
  Random random(81);
  for (int round = 0; round < 3000; ++round) {
    int64_t points = draw(random, 1, 4), m = draw(random, 1, 3000), n = draw(random, 1, 3000),
            k = draw(random, 1, 2000);
    const char *dtype = draw(random, 0, 1) == 0 ? "f32" : "bf16";
    std::vector<double> pieces = gemmPieces(points, m, n, k, dtype);
    double work = double(points) * double(m) * double(n) * double(k);
    ASSERT_NEAR(std::accumulate(pieces.begin(), pieces.end(), 0.0), work, 1e-9 * work);
    for (int threads : {1, 2, 3, 16}) {
      CallShape call{"gemm-nt", {{points}, {m}, {n}, {k}}};
      double uneven = unevenness(call, dtype, 1, 1, threads);
      ASSERT_GE(uneven, 1 - 1e-12);
      ASSERT_LE(uneven, threads + 1e-12);
      double longest = *std::ranges::max_element(pieces);
      if (uneven > 1.0 + 1e-12) // no thread has less than the others by more than a piece
        ASSERT_LE((uneven - 1) * work / threads, longest * (1 + 1e-9));
    }
  }
}

TEST(CallPoint, KeysAndFeaturesFillVectors) {
  CallShape odd = *parseCall("attention-backward:2*m,4,4,121,121,36,40"),
            full = *parseCall("attention:2*m,4,4,128,128,64,64");
  Point point = callPointInVectors(odd, 3, 1, 16);
  EXPECT_EQ(point[0], 24);
  EXPECT_DOUBLE_EQ(point[1], std::sqrt(121.0 * 128));
  EXPECT_EQ(point[2], 48);
  EXPECT_EQ(callPointInVectors(odd, 3, 1, 8)[2], 40);
  EXPECT_EQ(callPointInVectors(full, 3, 1, 16), callPoint(full, 3));
  CallShape product = *parseCall("gemm-nt:1,121*m,36,40");
  EXPECT_EQ(callPointInVectors(product, 3, 1, 16), callPoint(product, 3));
}

/// A machine whose even times are powers of the sizes, on two threads.
double powerOf(const Point &p) { return 1e-9 * std::pow(p[0], 0.8) * std::pow(p[1], 0.95) * p[2]; }

TimeTable tableOf(Operands operands, int threads, const std::function<double(const Point &)> &seconds) {
  TimeTable table{.call = "gemm-nn",
                  .dtype = "f32",
                  .axes = {{{16, 128, 1024}, {64, 512, 4096}, {64, 2048}}},
                  .operands = operands};
  for (int64_t m : table.axes[0])
    for (int64_t n : table.axes[1])
      for (int64_t k : table.axes[2])
        table.seconds.push_back(seconds({double(m), double(n), double(k)}));
  table.level(threads);
  return table;
}

TEST(TimeTable, FollowsTheUnevennessOfThreadsBetweenItsPoints) {
  auto seconds = [](const Point &p) { return powerOf(p) * unevenness("gemm-nn", "f32", p, 2); };
  TimeTable level = tableOf(Operands::Near, 2, seconds), plain = tableOf(Operands::Near, 0, seconds);
  double worst = 1;
  for (double n : {96, 384, 400, 768, 1000, 1152, 1536, 5003}) {
    Point point{48, n, 300};
    double truth = seconds(point);
    EXPECT_NEAR(level.at(point, unevenness("gemm-nn", "f32", point, 2)) / truth,
                n > 4096 ? std::pow(n / 4096, 0.05) : 1, 1e-9)
        << n;
    worst = std::max(worst, std::abs(std::log(plain.at(point) / truth)));
  }
  EXPECT_GT(worst, std::log(1.3)) << "without it some are off by a third";
  size_t index = 0;
  for (int64_t m : level.axes[0]) // points stay exact
    for (int64_t n : level.axes[1])
      for (int64_t k : level.axes[2]) {
        Point point{double(m), double(n), double(k)};
        EXPECT_NEAR(level.at(point, unevenness("gemm-nn", "f32", point, 2)) / level.seconds[index++], 1,
                    1e-12);
      }
}

TEST(MissCurve, IsLinearInTheLogarithmAndConstantOutside) {
  EXPECT_EQ(MissCurve{}.at(1e9), 0);
  MissCurve curve{{100, 400, 1600}, {0, 0.5, 0.6}};
  EXPECT_EQ(curve.at(0), 0);
  EXPECT_EQ(curve.at(100), 0);
  EXPECT_NEAR(curve.at(200), 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(curve.at(400), 0.5);
  EXPECT_NEAR(curve.at(800), 0.55, 1e-12);
  EXPECT_EQ(curve.at(1e12), 0.6);
}

TEST(Blend, AddsWhatWaitingForWeightsTakes) {
  // Each weight costs 0.1 ns more from memory, whatever the rows: k * n of them.
  auto waiting = [](const Point &p) { return 1e-10 * p[1] * p[2]; };
  TimeTable near = tableOf(Operands::Near, 0, powerOf);
  TimeTable far{.call = "gemm-nn",
                .dtype = "f32",
                .axes = {{{16, 128}, {64, 4096}, {64, 2048}}},
                .operands = Operands::Far};
  for (int64_t m : far.axes[0])
    for (int64_t n : far.axes[1])
      for (int64_t k : far.axes[2]) {
        Point point{double(m), double(n), double(k)};
        far.seconds.push_back(powerOf(point) + waiting(point));
      }
  Point few{16, 4096, 2048}, many{1024, 4096, 2048};
  EXPECT_DOUBLE_EQ(blend(near, nullptr, 1, few, 1), powerOf(few));
  EXPECT_DOUBLE_EQ(blend(near, &far, 0, few, 1), powerOf(few));
  EXPECT_NEAR(blend(near, &far, 1, few, 1), powerOf(few) + waiting(few), 1e-12);
  EXPECT_NEAR(blend(near, &far, 0.25, few, 1), powerOf(few) + waiting(few) / 4, 1e-12);
  EXPECT_NEAR(blend(near, &far, 1, many, 1), powerOf(many) + waiting(many), 1e-12)
      << "more rows than the table has wait no longer";
  for (double &seconds : far.seconds)
    seconds *= 0.9; // noise: what is far is never faster
  EXPECT_GE(blend(near, &far, 1, Point{128, 64, 64}, 1), near.at({128, 64, 64}));
}

TEST(TimeModel, WeightsThatDoNotFitIntoTheCacheComeFromMemory) {
  Problem problem;
  Command product{.id = 1, .kind = CommandKind::Gemm, .kernel = "product"};
  product.variants[0].call = {"gemm-nn", {{1}, {.perSample = 16}, {512}, {2048}}};
  problem.commands = {product};
  problem.fixed = {{FixedKind::State, "weights", {30 << 20}, StateRole::Parameters},
                   {FixedKind::State, "gradients", {30 << 20}, StateRole::Gradients},
                   {FixedKind::State, "moments", {60 << 20}, StateRole::Optimizer}};
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.tables = {tableOf(Operands::Near, 0, powerOf),
                    tableOf(Operands::Far, 0, [](const Point &p) { return 3 * powerOf(p); })};
  profile.misses = {{60 << 20, 120 << 20}, {0.5, 1}};
  double near = powerOf({16, 512, 2048});
  EXPECT_NEAR(TimeModel(problem, profile, 1).seconds(0, 0, 1) / near, 2, 1e-9)
      << "half of the weights and gradients are missed; moments are not touched in a micro-step";
  problem.fixed[0].bytes.fixed = 90 << 20;
  EXPECT_NEAR(TimeModel(problem, profile, 1).seconds(0, 0, 1) / near, 3, 1e-9);
  profile.misses = {};
  EXPECT_NEAR(TimeModel(problem, profile, 1).seconds(0, 0, 1) / near, 1, 1e-9);
}

TEST(TimeModel, HeadsFillTheVectorsOfTheMachineThatWasMeasured) {
  Problem problem;
  Command attention{.id = 1, .kind = CommandKind::Attention, .kernel = "attention"};
  attention.variants[0].call = *parseCall("attention:1*m,4,4,64,64,36,36");
  problem.commands = {attention};
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  TimeTable table{.call = "attention", .dtype = "f32", .axes = {{{4, 16}, {32, 128}, {32, 128}}}};
  for (int64_t heads : table.axes[0])
    for (int64_t keys : table.axes[1])
      for (int64_t features : table.axes[2])
        table.seconds.push_back(1e-9 * double(heads) * double(keys * keys) * double(features));
  profile.tables = {table};
  auto each = [&] { return TimeModel(problem, profile, 1).seconds(0, 0, 1) / (1e-9 * 4 * 64 * 64); };
  EXPECT_NEAR(each(), 48, 1e-6) << "as before profiles said it";
  profile.vectorBytes = 32;
  EXPECT_NEAR(each(), 40, 1e-6);
}

TEST(TimeModel, SlicesFindTheirWeightsInTheCache) {
  Problem problem;
  Command product{.id = 1, .kind = CommandKind::Gemm, .kernel = "product"};
  product.variants[0].call = {"gemm-nn", {{1}, {.perSample = 16}, {512}, {2048}}};
  Command gradient{.id = 2, .kind = CommandKind::Gemm, .kernel = "gradient"};
  gradient.variants[0].call = {"gemm-tn", {{1}, {512}, {2048}, {.perSample = 16}}};
  problem.commands = {product, gradient};
  for (Command &command : problem.commands) {
    command.variants.push_back(command.variants[0]);
    command.variants[1].slice = 2;
  }
  problem.fixed = {{FixedKind::State, "weights", {90 << 20}, StateRole::Parameters}};
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.tables = {tableOf(Operands::Near, 0, powerOf),
                    tableOf(Operands::Far, 0, [](const Point &p) { return 3 * powerOf(p); })};
  auto slices = [&](int64_t m, double slice) {
    return TimeModel(problem, profile, 1).seconds(0, 1, m) / slice;
  };
  double two = powerOf({32, 512, 2048}), one = powerOf({16, 512, 2048});
  profile.misses = {{8 << 20, 16 << 20}, {0, 1}}; // 4 MiB of weights and as much of gradients
  EXPECT_NEAR(slices(2, two), 3, 1e-9) << "at once";
  EXPECT_NEAR(slices(8, two), 3 + 3, 1e-9) << "the first of four comes from memory";
  EXPECT_NEAR(slices(5, two), 3 + 1 + one / two, 1e-9) << "the last one is shorter";
  profile.misses = {{4 << 20, 8 << 20}, {0, 1}};
  EXPECT_NEAR(slices(8, two), 4 * 3, 1e-9) << "weights and gradients do not fit";
  profile.misses = {{8 << 20, 16 << 20}, {0, 1}};
  for (Command &command : problem.commands) {
    command.variants[1].slice = 1;
    command.variants[1].pieces = 2;
  }
  EXPECT_NEAR(slices(2, 0.8 * one), 3 + 3, 1e-9)
      << "halves of two samples: 8 rows take (8 + 24) / (16 + 24) of what 16 take, the table's fewest";
}

TEST(MissCurve, MeanIsThatOfEveryDepth) {
  MissCurve curve{{100, 200}, {0, 1}};
  EXPECT_EQ(curve.mean(0), 0);
  EXPECT_EQ(curve.mean(100), 0);
  EXPECT_NEAR(curve.mean(1e6), 1, 1e-3);
  EXPECT_NEAR(curve.mean(400), 0.64, 0.01)
      << "a quarter hits; of log2(x / 100) from 100 to 200 the mean is 0.557";
  double before = 0;
  for (double touched = 1; touched < 1e4; touched *= 1.1) {
    EXPECT_GE(curve.mean(touched), before - 1e-12);
    EXPECT_LE(curve.mean(touched), curve.at(touched) + 1e-12);
    before = curve.mean(touched);
  }
}

/// Forward: `up` makes 0, `bend` makes 1 of it, `loss` reads 1 and makes 2; backward: `grad` reads 2 and a
/// view of 1, `down` reads 1 and what `grad` made.
Problem smallStep() {
  Problem problem;
  int64_t id = 0;
  for (const char *kernel : {"up", "bend", "loss", "grad", "down"}) {
    problem.commands.push_back({.id = id++, .kernel = kernel, .backward = id > 3});
    problem.commands.back().variants[0].bytes = {.perSample = 4000};
  }
  problem.buffers = {{.id = "0", .bytes = {.perSample = 1000}, .producer = 0, .users = {1}},
                     {.id = "1", .bytes = {.fixed = 64, .perSample = 2000}, .producer = 1, .users = {2, 4}},
                     {.id = "2", .bytes = {.perSample = 10}, .producer = 2, .users = {3}},
                     {.id = "3", .bytes = {.perSample = 20}, .producer = 3, .users = {4}},
                     {.id = "1v", .bytes = {.perSample = 2000}, .producer = 1, .users = {3}, .aliasOf = 1}};
  return problem;
}

TEST(Carried, IsWrittenForwardAndReadFirstByTheBackwardPart) {
  Problem problem = smallStep();
  ASSERT_TRUE(check(problem));
  noteCarried(problem);
  EXPECT_EQ(problem.carried, (Amount{64, 2010}))
      << "not what the forward part alone, or the backward part alone, reads";
  std::vector<Amount> each;
  for (const Command &command : problem.commands)
    each.push_back(command.carried);
  EXPECT_EQ(each, (std::vector<Amount>{{}, {64, 2000}, {0, 10}, {64, 2010}, {}}));
  Choice choice{{0, 1, 0, 0, 0}, {0, 0, 0, 0, 0}};
  Problem again = expand(problem, choice);
  EXPECT_EQ(again.carried, problem.carried);
  for (const Command &command : again.commands)
    EXPECT_EQ(command.carried, each[command.cloneOf >= 0 ? command.cloneOf : command.id])
        << "times of plans are those of the search";
  noteCarried(problem);
  EXPECT_EQ(problem.carried, (Amount{64, 2010})) << "said twice, counted once";
}

TEST(Carried, SumsOfAbsurdSizesSaturate) {
  Problem problem = smallStep();
  problem.buffers[1].bytes = {.fixed = INT64_MAX, .perSample = INT64_MAX};
  noteCarried(problem);
  EXPECT_EQ(problem.carried, (Amount{kAmountLimit + 1, kAmountLimit + 1}));
}

TEST(TimeModel, ActivationsThatTheCacheLostAreFetched) {
  Problem problem = smallStep();
  noteCarried(problem);
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.costs = {{"bytes", 1e-9}};
  profile.misses = {{100 << 10, 200 << 10}, {0, 1}};
  auto added = [&](int command, int64_t m) {
    profile.costs["far_bytes"] = 0;
    double near = TimeModel(problem, profile, 1).seconds(command, 0, m);
    profile.costs["far_bytes"] = 1e-8;
    return (TimeModel(problem, profile, 1).seconds(command, 0, m) - near) / 1e-8;
  };
  for (int command : {0, 1, 2, 3, 4})
    EXPECT_EQ(added(command, 4), 0) << "a small micro-step stays in the cache";
  double share = profile.misses.mean(64 + 2010 * 80);
  EXPECT_GT(share, 0);
  EXPECT_NEAR(added(1, 80), (64 + 2000 * 80) * share + (2000 * 80 - 64) * profile.misses.at(4000 * 80), 1e-3)
      << "what it carries by the micro-step's bytes, the rest by its own";
  EXPECT_NEAR(added(0, 40), 4000 * 40 * profile.misses.at(4000 * 40), 1e-3);
  problem.fixed = {{FixedKind::State, "weights", {1 << 20}, StateRole::Parameters}};
  EXPECT_GT(added(3, 4), 0) << "weights and gradients are touched before the backward part reads it";
  EXPECT_EQ(added(0, 4), 0) << "what the next command reads is still there";
  problem.commands[3].variants[0].slice = 1;
  EXPECT_LE(added(3, 40), 2010 * 40 + 64 + 1) << "in slices, what is not carried stays near";
  problem.commands[3].phase = usual::kUpdate;
  EXPECT_EQ(added(3, 40), 0) << "a cost of its own";
  problem.commands[3].phase = usual::kMicro;
  profile.misses = {};
  EXPECT_EQ(added(3, 4000), 0) << "a profile that does not know its caches";
}

TEST(TimeModel, AnyNumberOfPiecesTakesTime) {
  Problem problem = smallStep();
  DeviceProfile profile{.name = "p", .rates = {{false, "f32", 1e8, 1e8}}, .bandwidth = 1e9, .launch = 1e-6};
  Variant &way = problem.commands[3].variants[0];
  way.slice = 1;
  way.pieces = INT64_MAX;
  EXPECT_GT(TimeModel(problem, profile, 1).seconds(3, 0, 16), 16 * 9e18 * 1e-6);
}

TEST(TimeModel, CallsHaveACostOfTheirOwnForWhatTheyFetch) {
  Problem problem = smallStep();
  problem.commands[0].kind = CommandKind::Gemm;
  problem.commands[0].variants[0].call = {"gemm-nn", {{1}, {.perSample = 16}, {512}, {2048}}};
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.misses = {{1 << 10, 2 << 10}, {0, 1}};
  profile.costs = {{"far_bytes", 1e-8}};
  double without = TimeModel(problem, profile, 1).seconds(0, 0, 10);
  profile.costs["call_far_bytes"] = 3e-8;
  EXPECT_NEAR(TimeModel(problem, profile, 1).seconds(0, 0, 10) - without, 40000 * 3e-8, 1e-12);
}

/// Tiles that each thread packs: never more threads than pieces, nor more of k than is packed at a time.
TEST(CallTimes, ThreadsPackTheirTiles) {
  CallShape large = *parseCall("gemm-nn:1,1024*m,768,3072"), small = *parseCall("gemm-nn:1,16*m,64,64");
  const int64_t tile = 4 * (1024 * 384 + (1024 + 384) * 768),
                panels = 4 * (1024 * 256 + 256 * 768 + 1024 * 384), // a tile of bf16 has 768 columns
      own = 2 * 4 * 512 * 768 + 2 * 768 * (768 + 512 + 768);        // sums twice; rounded, and packed A and B
  EXPECT_EQ(packedBytes(large, "f32", 64, 1), tile);
  EXPECT_EQ(packedBytes(large, "f32", 64, 8), 8 * tile);
  EXPECT_EQ(packedBytes(large, "bf16", 64, 8), (512 << 10) + 8 * (panels + own));
  EXPECT_EQ(packedBytes(small, "f32", 1, 8), 4 * (16 * 64 + (16 + 64) * 64)) << "one piece, one thread";
  EXPECT_EQ(packedBytes(*parseCall("attention:1*m,4,1,128,128,64,64"), "f32", 8, 8), 0);
}

TEST(CallTimes, ThreadsOfAMachineAreDividedAmongDevices) {
  Problem problem;
  problem.commands = {Command{.id = 0, .kind = CommandKind::Gemm}};
  problem.commands[0].variants[0].call = *parseCall("gemm-nn:1,1024*m,768,3072");
  Overhead threads{.bytes = 1000, .cores = 8}, once{.bytes = 77, .onlyParallel = true};
  auto packed = [&](int64_t count) {
    return packedBytes(problem.commands[0].variants[0].call, "f32", 4, count);
  };
  EXPECT_EQ(bytesOf(threads, problem, 1, 4), 8000 + packed(8));
  EXPECT_EQ(bytesOf(threads, problem, 3, 4), 2000 + packed(2));
  EXPECT_EQ(bytesOf(threads, problem, 99, 4), 1000 + packed(1));
  EXPECT_EQ(bytesOf(once, problem, 1, 4), 0);
  EXPECT_EQ(bytesOf(once, problem, 2, 4), 77);
}

} // namespace
