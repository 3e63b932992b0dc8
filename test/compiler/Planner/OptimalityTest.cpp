// SPDX-License-Identifier: Apache-2.0
// The joint choice of size, recomputation, variants, shards and offload against every one there is, on small
// random steps with all that a problem can hold. ACCUM_ROUNDS: how many (a few hundred without).
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Verify/Verify.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>

using namespace accum::planner;
using accum::Offload;
using accum::Sharing;

namespace {

int roundsOr(int usual) {
  const char *asked = std::getenv("ACCUM_ROUNDS");
  return asked ? std::atoi(asked) : usual;
}

/// Every subset of the commands that may run again, with every combination of variants of the micro-step.
std::vector<Choice> allChoices(const Problem &problem) {
  Recomputation flow(problem);
  std::vector<Choice> choices = {
      {std::vector<char>(problem.commands.size(), 0), std::vector<int>(problem.commands.size(), 0)}};
  auto branch = [&](auto change) {
    for (size_t at = 0, known = choices.size(); at < known; ++at) {
      choices.push_back(choices[at]);
      change(choices.back());
    }
  };
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    bool chooses = command.follows == kNoIndex && command.phase == usual::kMicro;
    std::vector<Choice> before = choices;
    for (size_t way = 1; chooses && way < command.variants.size(); ++way)
      for (Choice choice : before) {
        choice.variants[index] = static_cast<int>(way);
        choices.push_back(std::move(choice));
      }
    if (flow.isAllowed(static_cast<int>(index)))
      branch([&](Choice &choice) { choice.recomputed[index] = 1; });
  }
  return choices;
}

struct Point {
  double seconds;
  int64_t bytes;
};

/// What each choice takes at each size and in each mode with that offload, of which a point that another is
/// both as fast and as small as is left out: seconds fall as bytes rise.
std::vector<Point> allPoints(const Problem &problem, const DeviceProfile &profile, const Options &options,
                             Offload offload) {
  std::vector<Point> points;
  TimeModel asked(problem, profile, options.devices);
  std::vector<Sharing> modes = *sharingModes(problem, profile, options);
  std::erase_if(modes, [&](const Sharing &mode) { return mode.offload != offload; });
  std::vector<Cut> cuts = enumerateCuts(options)->cuts;
  std::vector<Choice> choices = allChoices(problem);
  for (const Sharing &mode : modes) {
    Problem own = sharedProblem(problem, mode, options.devices);
    UnitMemory units = unitMemory(problem, mode, options.devices);
    std::vector<FixedMemory> fixed = sharedMemory(problem, mode, options.devices, units);
    for (const Choice &choice : choices) {
      Problem runs = expand(own, choice);
      Lifetimes lifetimes(runs);
      Problem whole = expand(problem, choice);
      TimeModel times(whole, profile, options.devices);
      for (const Cut &cut : cuts) {
        Point point{0, pack(layOut(runs, lifetimes, cut.m, profile.alignment).blocks).height};
        for (const Overhead &line : profile.overheads)
          point.bytes += line.counted ? bytesOf(line, problem, options.devices, cut.m) : 0;
        for (const FixedMemory &line : fixed)
          point.bytes += line.bytes.at(cut.m);
        for (const TimeLine &line : times.step(cut, mode, asked.concurrent(cut, mode)))
          point.seconds += line.seconds;
        points.push_back(point);
      }
    }
  }
  std::ranges::sort(points, {}, [](const Point &point) { return std::pair(point.bytes, point.seconds); });
  std::vector<Point> front;
  for (const Point &point : points)
    if (front.empty() || point.seconds < front.back().seconds)
      front.push_back(point);
  return front;
}

class Enricher {
public:
  Enricher(Random &random, Problem &problem) : random(random), problem(problem) {}

  void run() {
    nameWork();
    addVariants();
    addTails();
    addViews();
    addSurroundings();
    addState();
  }

private:
  bool coin(int64_t of) { return draw(random, 0, of - 1) == 0; }

  /// Calls and operations, of which some differ in nothing else.
  void nameWork() {
    for (Command &command : problem.commands) {
      Variant &way = command.variants.front();
      way.flops.perSample = draw(random, 1, 4) * 1'000'000'000;
      way.bytes.perSample = draw(random, 0, 3) * 1'000'000;
      if (coin(2)) {
        int64_t narrow = int64_t{16} << draw(random, 0, 6);
        way.call =
            *parseCall("gemm-nn:1,64*m," + std::to_string(narrow) + "," + std::to_string(65536 / narrow));
      } else {
        command.kind = CommandKind::Kernel;
        way.work = {{coin(2) ? "gelu" : "plain", {0, draw(random, 1, 3) * 1'000'000, {}}}};
      }
      if (coin(4))
        way.workspace = {0, 256 * draw(random, 0, 12), {}};
    }
  }

  /// Slices, pieces, and commands that follow.
  void addVariants() {
    for (size_t index = 0; index < problem.commands.size(); ++index) {
      Command &command = problem.commands[index];
      if (command.variants.size() > 1 && coin(2)) {
        command.variants[1].slice = draw(random, 1, 3);
        command.variants[1].pieces = coin(2) ? draw(random, 1, 3) : 1;
      }
      for (size_t leader = 0; leader < index && command.variants.size() == 1; ++leader)
        if (problem.commands[leader].variants.size() > 1 && problem.commands[leader].follows == kNoIndex &&
            coin(6)) {
          Variant own = command.variants.front();
          own.name = coin(5) ? "unknown" : problem.commands[leader].variants[1].name;
          own.workspace = {0, 256 * draw(random, 0, 8), {}};
          own.flops.perSample = draw(random, 1, 4) * 1'000'000'000;
          own.results = {{static_cast<int>(index), {0, 256 * draw(random, 0, 40), {}}}};
          command.variants.push_back(own);
          command.follows = static_cast<int>(leader);
        }
    }
  }

  void addTails() {
    for (size_t index = 1; index < problem.commands.size(); ++index) {
      Command &command = problem.commands[index];
      if (command.backward || problem.commands[index - 1].tail || command.variants.size() > 1 || !coin(4))
        continue;
      command.tail = true;
      problem.buffers[index].mayAlias.clear(); // written while the operands are still read
    }
  }

  /// Some users read a view; some results are views of an operand that is overwritten; some values are there
  /// through the whole step, or have a table of sizes.
  void addViews() {
    for (size_t index = 0, count = problem.buffers.size(); index < count; ++index) {
      Buffer &buffer = problem.buffers[index];
      bool resized = problem.commands[index].variants.size() > 1;
      if (coin(25))
        buffer.wholeStep = true;
      if (coin(12))
        buffer.bytes = {0, 0, {{1, buffer.bytes.at(1)}, {3, buffer.bytes.at(2)}, {5, buffer.bytes.at(7)}}};
      if (resized || buffer.users.empty() || !coin(6))
        continue;
      Buffer view{.id = "v" + std::to_string(index), .bytes = buffer.bytes};
      view.aliasOf = static_cast<int>(index);
      std::swap(view.users, buffer.users);
      if (coin(4) && index + 1 < problem.commands.size()) // a new value in the old place
        view.producer = static_cast<int>(index) + 1;
      std::erase_if(view.users, [&](int user) { return user <= view.producer; });
      for (Buffer &other : problem.buffers)
        std::erase(other.mayAlias, static_cast<int>(index));
      problem.buffers.push_back(std::move(view));
    }
  }

  /// A pre-pass and a prologue before the micro-step, whose results it reads; an update that reads some of
  /// it.
  void addSurroundings() {
    int before = static_cast<int>(draw(random, 0, 2));
    auto shift = [&](int &index) { index += index == kNoIndex ? 0 : before; };
    for (Command &command : problem.commands)
      shift(command.follows);
    for (Buffer &buffer : problem.buffers) {
      shift(buffer.producer);
      for (int &user : buffer.users)
        shift(user);
    }
    auto micro = static_cast<int>(problem.commands.size());
    for (int index = 0; index < before; ++index) {
      Command command{.id = 1000 + index, .phase = index, .kernel = "before"};
      command.variants[0].bytes = {1'000'000, 1'000'000, {}};
      problem.commands.insert(problem.commands.begin() + index, command);
      Buffer value{.id = "before" + std::to_string(index), .bytes = {256 * draw(random, 1, 9), 0, {}}};
      value.producer = index;
      value.users = {before + static_cast<int>(draw(random, 0, micro - 1))};
      problem.buffers.push_back(std::move(value));
    }
    Command update{.id = 2000, .phase = usual::kUpdate, .kind = CommandKind::Update, .kernel = "update"};
    update.variants[0].bytes = {draw(random, 1, 9) * 10'000'000, 0, {}};
    problem.commands.push_back(update);
    for (size_t index = 0; index < problem.buffers.size(); ++index)
      if (coin(20))
        problem.buffers[index].users.push_back(static_cast<int>(problem.commands.size()) - 1);
  }

  void addState() {
    int64_t weights = 256 * draw(random, 4, 40);
    problem.fixed = {{FixedKind::State, "weights", {weights, 0, {}}, StateRole::Parameters},
                     {FixedKind::State, "gradients", {weights, 0, {}}, StateRole::Gradients},
                     {FixedKind::State, "moments", {2 * weights, 0, {}}, StateRole::Optimizer},
                     {FixedKind::Inputs, "inputs", {0, 64, {}}}};
    problem.allReduceBytes = weights;
    problem.largestParameter = weights / 4;
    for (const Command &command : problem.commands)
      if (command.backward && coin(2))
        problem.parameters.push_back({weights / 16, command.id, "w"});
    if (!coin(3))
      return;
    Buffer copy{.id = "copy", .bytes = {weights / 2, 0, {}}, .users = {0}, .wholeStep = true};
    copy.role = StateRole::Parameters;
    problem.buffers.push_back(std::move(copy));
  }

  Random &random;
  Problem &problem;
};

struct Seen {
  int cases = 0, recomputed = 0, varied = 0, sharded = 0, offloaded = 0, split = 0;
  double worst = 1;
};

/// Asks for budgets that are just enough for a point of the front, and for one byte less; `end`: from where
/// on less offload fits.
void expectNearTheFront(const std::vector<Point> &front, int64_t least, int64_t end, const Problem &problem,
                        const DeviceProfile &profile, Options options, Seen &seen) {
  double slower = 1e300;
  int64_t lower = 0;
  for (size_t at = 0; at < front.size() && front[at].bytes < end; at += 1 + front.size() / 6) {
    options.budget = front[at].bytes - 1;
    Result<Search> less = solve(problem, profile, options);
    ASSERT_TRUE(less) << less.error().message;
    ASSERT_EQ(less->plan.has_value(), front[at].bytes > least) << "a byte less than point " << at;
    options.budget = front[at].bytes;
    Search search = *solve(problem, profile, options);
    ASSERT_TRUE(search.plan) << "point " << at;
    const Plan &plan = *search.plan;
    Status status = verify(problem, plan);
    ASSERT_TRUE(status) << status.error().message;
    double ratio = plan.seconds() / front[at].seconds;
    seen.worst = std::max(seen.worst, ratio);
    auto chosen = std::ranges::find(plan.candidates, Verdict::Chosen, &Candidate::verdict);
    ASSERT_NE(chosen, plan.candidates.end());
    ASSERT_NEAR(chosen->seconds, plan.seconds(), 1e-9 * plan.seconds())
        << "what was compared is not what runs: " << plan.shard << " " << plan.offload << " "
        << plan.recompute.size() << " " << plan.variants.size();
    ASSERT_LE(ratio, 1.01) << "point " << at << ": " << front[at].seconds << " s in " << front[at].bytes;
    ASSERT_GE(ratio, 1 - 1e-9);
    ASSERT_LE(plan.seconds(), slower * (1 + 1e-9));
    ASSERT_GE(plan.counted(), lower);
    slower = plan.seconds();
    lower = plan.counted();
    ++seen.cases;
    seen.recomputed += plan.recompute.empty() ? 0 : 1;
    seen.varied += plan.variants.empty() ? 0 : 1;
    seen.sharded += plan.shard == "none" ? 0 : 1;
    seen.offloaded += plan.offload == "none" ? 0 : 1;
    seen.split += plan.cut.steps > 1 ? 1 : 0;
  }
}

void expectNearTheOptimum(const Problem &problem, const DeviceProfile &profile, const Options &options,
                          Seen &seen) {
  std::vector<std::vector<Point>> fronts; // by offload
  int64_t least = INT64_MAX;
  for (Offload offload : {Offload::None, Offload::Optimizer, Offload::Parameters}) {
    fronts.push_back(allPoints(problem, profile, options, offload));
    if (!fronts.back().empty())
      least = std::min(least, fronts.back().front().bytes);
  }
  int64_t end = INT64_MAX;
  for (const std::vector<Point> &front : fronts) {
    ASSERT_NO_FATAL_FAILURE(expectNearTheFront(front, least, end, problem, profile, options, seen));
    if (!front.empty())
      end = std::min(end, front.front().bytes);
  }
}

TEST(Optimality, TheJointChoiceIsTheBestOfAll) {
  Seen seen;
  std::vector<DeviceProfile> profiles = {*loadProfile("h100"), *loadProfile("host")};
  for (int round = 0, rounds = roundsOr(200); round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(1000 + static_cast<uint64_t>(round));
    Problem problem =
        randomStep(random, static_cast<int>(draw(random, 2, 4)), 1, static_cast<int>(draw(random, 0, 2)));
    Enricher(random, problem).run();
    Status status = check(problem);
    ASSERT_TRUE(status) << status.error().message;
    Options options{.batch = draw(random, 1, 14), .devices = draw(random, 0, 1) == 0 ? 1 : 2};
    options.prefer = "speed";
    if (draw(random, 0, 1) == 0)
      options.shard = options.offload = "auto";
    DeviceProfile profile = profiles[static_cast<size_t>(round) % 2];
    profile.hostLinkBandwidth = 1e6;
    profile.linkBandwidth = 1e7;
    ASSERT_NO_FATAL_FAILURE(expectNearTheOptimum(problem, profile, options, seen)) << problem.name;
  }
  RecordProperty("worst", std::to_string(seen.worst));
  std::printf("%d plans, %d recompute, %d take a variant, %d shard, %d offload, "
              "%d accumulate; worst %.6f\n",
              seen.cases, seen.recomputed, seen.varied, seen.sharded, seen.offloaded, seen.split, seen.worst);
  for (int count : {seen.recomputed, seen.varied, seen.sharded, seen.offloaded, seen.split})
    EXPECT_GT(count, seen.cases / 20);
}

} // namespace
