// SPDX-License-Identifier: Apache-2.0
// Interpolation, costs, and the profiles that hold them.
#include "compiler/Planner/Time/TimeModel.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

/// Times of a machine whose rate grows with each size up to a limit.
double secondsOf(double m, double n, double k) {
  return 2 * m * n * k / 1e11 * (1 + 30 / m) * (1 + 50 / n) * (1 + 20 / k) + 1e-6;
}

TimeTable someTable() {
  TimeTable table{
      .call = "gemm-nn", .dtype = "f32", .axes = {{{16, 64, 512}, {64, 256, 768, 2048}, {32, 1024}}}};
  for (int64_t m : table.axes[0])
    for (int64_t n : table.axes[1])
      for (int64_t k : table.axes[2])
        table.seconds.push_back(secondsOf(double(m), double(n), double(k)));
  return table;
}

CallShape gemm(Amount m, int64_t n, int64_t k) {
  return {"gemm-nn", {Amount{.fixed = 1}, std::move(m), Amount{.fixed = n}, Amount{.fixed = k}}};
}

TEST(TimeTable, IsExactOnItsPoints) {
  TimeTable table = someTable();
  size_t index = 0;
  for (int64_t m : table.axes[0])
    for (int64_t n : table.axes[1])
      for (int64_t k : table.axes[2])
        EXPECT_EQ(table.at({double(m), double(n), double(k)}), table.seconds[index++]);
}

TEST(TimeTable, AscendsWhereItsPointsDoAndIsNeverNegative) {
  TimeTable table = someTable();
  Random random(71);
  for (int round = 0; round < 20000; ++round) {
    std::array<double, 3> point;
    for (double &size : point)
      size = std::exp2(static_cast<double>(draw(random, 0, 2000)) / 100);
    double here = table.at(point);
    ASSERT_GT(here, 0);
    for (size_t axis = 0; axis < 3; ++axis) {
      std::array<double, 3> further = point;
      further[axis] *= 1.3;
      ASSERT_GT(table.at(further), here * (1 - 1e-12)) << point[0] << " " << point[1] << " " << point[2];
    }
  }
}

TEST(TimeTable, MeetsPowersBetweenItsPointsAndFollowsWorkOutside) {
  TimeTable table{.call = "gemm-nn", .dtype = "f32", .axes = {{{10, 1000}, {10, 1000}, {10, 1000}}}};
  auto power = [](double m, double n, double k) { return 1e-9 * std::pow(m, 0.7) * std::pow(n, 0.9) * k; };
  for (double m : {10, 1000})
    for (double n : {10, 1000})
      for (double k : {10, 1000})
        table.seconds.push_back(power(m, n, k));
  EXPECT_NEAR(table.at({37, 500, 99}) / power(37, 500, 99), 1, 1e-12);
  EXPECT_NEAR(table.at({4000, 1000, 99}) / table.at({1000, 1000, 99}), 4, 1e-12);
  EXPECT_NEAR(table.at({10, 1, 10}) / table.at({10, 10, 10}), 0.1, 1e-12);
  EXPECT_NEAR(table.at({1, 10, 10}) / table.at({10, 10, 10}), 25.0 / 34, 1e-12)
      << "weights are read for one row as well";
  table.call = "gemm-tn";
  EXPECT_NEAR(table.at({1, 10, 10}) / table.at({10, 10, 10}), 0.1, 1e-12);
  EXPECT_NEAR(table.at({10, 10, 1}) / table.at({10, 10, 10}), 25.0 / 34, 1e-12);
  table.call = "attention";
  EXPECT_NEAR(table.at({10, 3000, 10}) / table.at({10, 1000, 10}), 9, 1e-12);
}

TEST(CallShape, TextRoundTripsAndRefusesTheRest) {
  for (const char *text : {"gemm-nt:1,128*m,768,3072", "attention-backward-causal:2*m,12,4,128,128,64,64",
                           "gemm-tn:1,768,3072,5+128*m"})
    EXPECT_EQ(toText(*parseCall(text)), text);
  for (const char *text :
       {"", "gemm-nn", "gemm-nn:1,2,3", "gemm-nn:1,2,3,4,5", "gemm-xx:1,2,3,4", "gemm-nn:1,2,3,-4",
        "gemm-nn:1,2,3,table{1:2}", "attention:1,2,3,4", "gemm-nn:1,,3,4"})
    EXPECT_FALSE(parseCall(text)) << text;
  EXPECT_EQ(toText(*parseOperationCount("exp@98304*m")), "exp@98304*m");
  for (const char *text : {"", "exp", "exp@", "@4", "Exp@4", "exp@-4"})
    EXPECT_FALSE(parseOperationCount(text)) << text;
}

TEST(TimeModel, TakesTablesThenCostsThenRates) {
  Problem problem;
  Command product{.id = 1, .kind = CommandKind::Gemm, .kernel = "product"};
  product.variants[0].flops = {.perSample = 2 * 64 * 256 * 1024};
  product.variants[0].call = gemm({.perSample = 64}, 256, 1024);
  Command kernel{.id = 2, .kernel = "gelu"};
  kernel.variants[0].bytes = {.perSample = 8000};
  kernel.variants[0].flops = {.perSample = 1000};
  kernel.variants[0].work = {{"gelu", {.perSample = 1000}}, {"strange", {.perSample = 10}}};
  Command update{.id = 3, .phase = usual::kUpdate, .kind = CommandKind::Update, .kernel = "adamw"};
  update.variants[0].bytes = {.fixed = 28000};
  problem.commands = {product, kernel, update};
  problem.allReduceBytes = 4000;
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  TimeModel byRates(problem, profile, 1);
  EXPECT_DOUBLE_EQ(byRates.seconds(0, 0, 8), 8 * 2 * 64 * 256 * 1024 / 1e9);
  EXPECT_DOUBLE_EQ(byRates.seconds(1, 0, 8), 8 * 1e-5);
  profile.tables = {someTable()};
  profile.costs = {{"gelu", 1e-9}, {"bytes", 1e-10}, {"update_bytes", 2e-10}, {"norm", 3e-9}};
  profile.launch = 1e-6;
  profile.bandwidth = 1e11; // the floor: below it nothing is read
  TimeModel model(problem, profile, 1);
  EXPECT_DOUBLE_EQ(model.seconds(0, 0, 8), secondsOf(512, 256, 1024)) << "a table has its launch in it";
  // 1000 gelu, 10 of what nobody measured, 8000 bytes; and a launch.
  EXPECT_DOUBLE_EQ(model.seconds(1, 0, 8), 8 * (1e-6 + 10 / 1e8 + 8e-7) + 1e-6);
  EXPECT_DOUBLE_EQ(model.seconds(2, 0, 8), 5.6e-6 + 1e-6);
  std::vector<CommandTime> commands = model.commands({8, 4, 8});
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].call, "gemm-nn 1x512x256x1024");
  EXPECT_EQ(toText(commands[0].source), std::string("table"));
  EXPECT_EQ(toText(commands[1].source), std::string("costs"));
  double step = 0, sum = 3e-6; // the norm of 1000 gradients
  for (const TimeLine &line : model.step({8, 4, 8}))
    step += line.seconds;
  for (const CommandTime &each : commands)
    sum += each.seconds * double(each.count * each.runs);
  EXPECT_NEAR(step, sum, 1e-15) << "the commands and the norm are the step";
  profile.sharedByDevices = true;
  TimeModel halves(problem, profile, 2);
  EXPECT_DOUBLE_EQ(halves.seconds(0, 0, 8), 2 * secondsOf(512, 256, 1024));
}

TEST(TimeModel, RunsOfOneKernelThatFindOtherThingsInACacheAddUp) {
  Problem problem;
  for (int64_t carried : {0, 1000, 1000}) {
    Command kernel{.id = static_cast<int64_t>(problem.commands.size()) + 1, .kernel = "add"};
    kernel.variants[0].bytes = {.perSample = 1000};
    kernel.carried = {.perSample = carried};
    problem.commands.push_back(kernel);
    problem.carried.perSample += carried;
  }
  DeviceProfile profile{.name = "p", .rates = {{false, "f32", 1e9, 1e9}}, .bandwidth = 1e12};
  profile.costs = {{"bytes", 1e-10}, {"far_bytes", 1e-9}};
  profile.misses = {.bytes = {100, 10000}, .missed = {0, 1}};
  TimeModel model(problem, profile, 1);
  std::vector<CommandTime> commands = model.commands({8, 4, 8});
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].count, 3);
  EXPECT_NEAR(4 * 3 * commands[0].seconds, model.step({8, 4, 8})[0].seconds, 1e-15);
}

TEST(TimeModel, AnOlderProfileHasOperationsThatWereNotToldApart) {
  Problem problem;
  for (const char *operation : {"cross_entropy_computed", "reduce_wide_columns", "transpose_last"}) {
    Command kernel{.id = static_cast<int64_t>(problem.commands.size()) + 1, .kernel = operation};
    kernel.variants[0].work = {{operation, {.perSample = 1000}}};
    problem.commands.push_back(kernel);
  }
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.costs = {{"cross_entropy", 1e-9}, {"reduce_columns", 2e-9}, {"transpose", 3e-9}};
  TimeModel before(problem, profile, 1);
  for (int command = 0; command < 3; ++command)
    EXPECT_DOUBLE_EQ(before.seconds(command, 0, 8), 8e-6 * (command + 1));
  profile.costs["reduce_wide_columns"] = 5e-9;
  EXPECT_DOUBLE_EQ(TimeModel(problem, profile, 1).seconds(1, 0, 8), 4e-5);
  profile.costs.erase("transpose");
  EXPECT_DOUBLE_EQ(TimeModel(problem, profile, 1).seconds(2, 0, 8), 8e-5) << "the vector rate";
}

TEST(TimeModel, TheNormIsOfGradientsInTheTypeOfMostCommands) {
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e9};
  profile.costs = {{"norm", 1e-3}};
  auto norm = [&](std::vector<std::string> types) {
    Problem problem{.allReduceBytes = 8000};
    for (const std::string &type : types)
      problem.commands.push_back({.id = int64_t(problem.commands.size()), .kernel = "k", .dtype = type});
    return TimeModel(problem, profile, 1).step({8, 4, 8}).back().seconds;
  };
  EXPECT_DOUBLE_EQ(norm({"f32", "f32", "f32"}), 2);
  EXPECT_DOUBLE_EQ(norm({"f32", "f64", "f32"}), 2) << "one counts samples";
  EXPECT_DOUBLE_EQ(norm({"f64", "f64", "f32"}), 1);
}

/// A sample of 1 MB; 4 micro-steps of 8.
TEST(TimeModel, SamplesAreBroughtToTheCommands) {
  Problem problem{.fixed = {{FixedKind::Inputs, "inputs", {.fixed = 0, .perSample = 1'000'000}},
                            {FixedKind::Library, "library", {.fixed = 1 << 30}}}};
  Command kernel{.id = 1, .kernel = "k"};
  kernel.variants[0].bytes = {.perSample = 500'000'000};
  problem.commands = {kernel};
  DeviceProfile profile{
      .name = "p", .rates = {{true, "f32", 1e9, 1e9}, {false, "f32", 1e8, 1e8}}, .bandwidth = 1e12};
  auto feed = [&] {
    for (const TimeLine &line : TimeModel(problem, profile, 1).step({8, 4, 8}))
      if (line.name == "feed")
        return line;
    return TimeLine{};
  };
  EXPECT_DOUBLE_EQ(feed().seconds, 4 * 16e6 / 1e12) << "read and written at the memory's rate";
  profile.costs = {{"copy_bytes", 1e-10}};
  EXPECT_DOUBLE_EQ(feed().seconds, 4 * 8e6 * 1e-10) << "as measured";
  EXPECT_EQ(feed().hidden, 0);
  profile.architecture = "sm_90";
  EXPECT_DOUBLE_EQ(feed().seconds, 4 * 16e6 / 1e12) << "no link: within the card";
  profile.hostLinkBandwidth = 1e10; // 0.8 ms for 8 samples, of which a micro-step takes 4 ms
  EXPECT_DOUBLE_EQ(feed().seconds, 8e-4 + 4 * 16e-6);
  EXPECT_DOUBLE_EQ(feed().hidden, 3 * 8e-4);
  profile.hostLinkBandwidth = 1e9; // 8 ms
  EXPECT_NEAR(feed().seconds, 8e-3 + 3 * 4e-3 + 4 * 16e-6, 1e-12);
  EXPECT_NEAR(feed().hidden, 3 * 4e-3, 1e-12);
  problem.fixed.clear();
  EXPECT_EQ(feed().name, "");
}

TEST(TimeModel, ACardIssuesInstructions) {
  Problem problem;
  Command kernel{.id = 1, .kind = CommandKind::Loss, .kernel = "gelu"}; // whatever its name: no matrix units
  kernel.variants[0].bytes = {.perSample = 4000};
  kernel.variants[0].flops = {.perSample = 1};
  kernel.variants[0].work = {
      {"gelu", {.perSample = 1000}}, {"plain", {.perSample = 2000}}, {"strange", {.perSample = 10}}};
  problem.commands = {kernel};
  DeviceProfile profile{.name = "p",
                        .architecture = "sm_90",
                        .rates = {{true, "f32", 1e12, 1e12}, {false, "f32", 5e8, 1e9}},
                        .bandwidth = 1e9,
                        .launch = 1e-6};
  // 18.5, 0.85 and 8 for each element, and a quarter for each byte.
  double instructions = 8 * (18.5 * 1000 + 0.85 * 2000 + 8 * 10 + 0.25 * 4000);
  EXPECT_DOUBLE_EQ(TimeModel(problem, profile, 1).seconds(0, 0, 8), instructions / 5e8 + 1e-6);
  profile.bandwidth = 1e7; // memory is slower
  EXPECT_DOUBLE_EQ(TimeModel(problem, profile, 1).seconds(0, 0, 8), 8 * 4000 / 1e7 + 1e-6);
}

TEST(TimeModel, WideHeadsAreSlowerByTheirTiles) {
  DeviceProfile h100 = *loadProfile("h100"), host = *loadProfile("host");
  auto secondsOf = [](const DeviceProfile &profile, const std::string &name, int64_t features) {
    Command attention{.id = 1, .kind = CommandKind::Attention, .kernel = "attention", .dtype = "bf16"};
    attention.variants[0].flops = {.perSample = 1 << 30};
    std::string width = std::to_string(features);
    attention.variants[0].call = *parseCall(name + ":1*m,12,12,1024,1024," + width + "," + width);
    Problem problem;
    problem.commands = {attention};
    return TimeModel(problem, profile, 1).seconds(0, 0, 1) - profile.launch;
  };
  double least = (1 << 30) / h100.attentionRate("bf16")->sustained;
  for (const char *name : {"attention-causal", "attention-backward"}) {
    EXPECT_NEAR(secondsOf(h100, name, 64), least, 1e-12);
    EXPECT_EQ(secondsOf(host, name, 256), secondsOf(host, name, 64)) << name;
  }
  EXPECT_NEAR(secondsOf(h100, "attention-causal", 256), least / 0.9, 1e-12);
  EXPECT_NEAR(secondsOf(h100, "attention-backward", 65), least / 0.75, 1e-12);
  EXPECT_NEAR(secondsOf(h100, "attention-backward", 256), least / 0.55, 1e-12);
}

// --- profiles ---

const HostFacts kHere{.cores = 2, .features = {"avx2"}, .cpu = "Quick 9000 (family 6, model 1, stepping 2)"};

std::string measuredProfile() {
  DeviceProfile profile = *loadProfile("host", kHere);
  profile.basis = "measured";
  profile.tables = {someTable()};
  profile.tables[0].spread = 0.03;
  profile.tables.push_back(someTable());
  profile.tables[1].operands = Operands::Far;
  profile.tables[1].level(2);
  profile.misses = {{1 << 20, 1 << 30}, {0.25, 1}};
  profile.overlapsSums = true;
  profile.referenceSeconds = 2e-3;
  profile.vectorBytes = 32;
  profile.costs = {{"exp", 1.25e-10}, {"bytes", 2e-11}};
  return toJson(profile, kHere, "a test");
}

TEST(MeasuredProfile, RoundTrips) {
  std::string text = measuredProfile();
  Result<DeviceProfile> read = parseProfile(text, "p.json", kHere);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(*read, kHere, "a test"), text);
  EXPECT_EQ(read->tables[0].seconds, someTable().seconds);
  EXPECT_EQ(read->tables[1].threads, 2);
  EXPECT_EQ(read->tables[1].even.size(), someTable().seconds.size());
  EXPECT_EQ(findTable(read->tables, "gemm-nn", "f32", Operands::Far), &read->tables[1]);
  EXPECT_EQ(read->misses.missed, (std::vector<double>{0.25, 1}));
  EXPECT_TRUE(read->overlapsSums);
  EXPECT_EQ(read->referenceSeconds, 2e-3);
  EXPECT_EQ(read->vectorBytes, 32);
  EXPECT_EQ(read->costs, (std::map<std::string, double, std::less<>>{{"exp", 1.25e-10}, {"bytes", 2e-11}}));
  EXPECT_TRUE(read->notices.empty());
  for (const std::string &name : profileNames()) {
    DeviceProfile profile = *loadProfile(name, kHere);
    std::string written = toJson(profile, kHere, "itself");
    EXPECT_EQ(toJson(*parseProfile(written, "p.json", kHere), kHere, "itself"), written) << name;
  }
}

TEST(MeasuredProfile, SaysThatItIsOfAnotherMachine) {
  for (HostFacts other :
       {HostFacts{4, {"avx2"}, kHere.cpu}, HostFacts{2, {"avx2"}, "Slow 1"}, HostFacts{2, {"avx2"}}}) {
    Result<DeviceProfile> read = parseProfile(measuredProfile(), "p.json", other);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->notices.size(), 1u);
    EXPECT_THAT(read->notices[0], HasSubstr("measured on another machine: 2 cores of Quick 9000"));
  }
}

TEST(MeasuredProfile, IsReadStrictly) {
  using Json = nlohmann::ordered_json;
  auto refused = [](const std::string &pointer, const Json &value, const char *what) {
    Json json = Json::parse(measuredProfile());
    json[Json::json_pointer(pointer)] = value;
    Result<DeviceProfile> read = parseProfile(json.dump(), "p.json", kHere);
    ASSERT_FALSE(read) << pointer;
    EXPECT_THAT(read.error().message, HasSubstr(what));
    EXPECT_EQ(read.error().slug, "malformed-profile");
  };
  refused("/tables/0/call", "gemm", "tables[0].call is `gemm`, expected gemm-nn");
  refused("/tables/0/seconds/5", -1, "tables[0].seconds[5] is -1, expected a number between");
  refused("/tables/0/seconds/5", 0, "tables[0].seconds[5] is 0");
  refused("/tables/0/seconds/5", 1e300, "tables[0].seconds[5] is 1e+300");
  refused("/tables/0/seconds/5", "fast", "tables[0].seconds[5] is a string");
  refused("/tables/0/seconds", Json::array({1.0}), "tables[0].seconds has 1 elements, expected 24");
  refused("/tables/0/axes/1/2", 256, "tables[0].axes[1][2] is 256, expected an integer from 1");
  refused("/tables/0/axes/1/0", 0, "tables[0].axes[1][0] is 0");
  refused("/tables/0/axes/1/0", 1.5, "tables[0].axes[1][0] is 1.5");
  refused("/tables/0/axes/1/3", uint64_t{1} << 63, "tables[0].axes[1][3] is 9223372036854775808");
  refused("/tables/0/axes/1", 3, "tables[0].axes[1] is no array of 1 to 256 sizes");
  refused("/tables/0/axes", Json::array(), "tables[0].axes has 0 elements, expected 3");
  refused("/tables/0/colour", 1, "tables[0].colour is not a known key");
  refused("/tables/2", Json::parse(measuredProfile())["tables"][0],
          "tables[2] is a second table of gemm-nn in f32");
  refused("/tables/1/operands", "away", "tables[1].operands is `away`, expected near or far");
  refused("/tables/1/threads", 0, "tables[1].threads is 0");
  refused("/tables/1/threads", 1 << 20, "tables[1].threads is 1048576");
  refused("/misses/1/missed", 0.1, "misses[1].missed is 0.1, expected a number between 0.25 and 1");
  refused("/misses/1/bytes", 7, "misses[1].bytes is 7");
  refused("/misses/0/missed", 1.5, "misses[0].missed is 1.5");
  refused("/misses/0/colour", 1, "misses[0].colour is not a known key");
  refused("/link/overlaps", 0, "link.overlaps is a number, expected true or false");
  refused("/tables", 1, "tables is a number, expected an array");
  refused("/costs/0/seconds", -1e-9, "costs[0].seconds is -1e-09");
  refused("/costs/0/per", "node", "costs[0].per is `node`, expected `core`");
  refused("/machine/cores", 0, "machine.cores is 0");
  refused("/machine/reference_seconds", 0, "machine.reference_seconds is 0");
  refused("/machine/vector_bytes", 8, "machine.vector_bytes is 8, expected an integer");
  refused("/machine/owner", "me", "machine.owner is not a known key");
}

} // namespace
