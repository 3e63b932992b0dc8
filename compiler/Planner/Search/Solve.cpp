// SPDX-License-Identifier: Apache-2.0
// The choice among all points: times and bounds for all, packing where it decides, then the verdicts.
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Search/Reasons.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <queue>
#include <tuple>

namespace accum::planner {

namespace {

/// Rectangles that may be packed for the table alone, once the choice has been made, and to find what needs
/// the least: that much for certain.
constexpr size_t kTableRectangles = 400'000, kSmallestRectangles = 12'000;

class Searcher {
public:
  Searcher(const Problem &problem, const DeviceProfile &profile, const Options &options)
      : problem(problem), profile(profile), options(options), times(problem, profile, options.devices),
        points(problem, profile, options, times) {}

  Result<Search> run();
  Result<std::vector<std::optional<Candidate>>> choices(const std::vector<int64_t> &budgets);

private:
  Status prepare();
  int choose();
  int fastestThatFits();
  int leastMemoryWithin(int64_t limit);
  void packForTable();
  int takeSmallest();
  int leastOfAll() const;
  int findSmallest();
  void giveVerdicts(int chosen, int smallest);
  void addCandidate(int point, int chosen);
  Plan makePlan(int chosen);
  bool fits(int point) const { return points.counted(point) <= search.budget; }

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  TimeModel times;
  SearchSpace points;
  Search search;
  int fastest = kNoIndex; ///< of what fits
  std::vector<int> shown; ///< the points of `search.candidates`
  Packing chosenPacking;
};

/// By packing in the order of time.
int Searcher::fastestThatFits() {
  std::vector<std::tuple<int64_t, int64_t, int>> order;
  for (int point = 0; point < points.count(); ++point)
    if (points.isAllowed(point) && fits(point))
      order.emplace_back(points.ticks(point), points.counted(point), point);
  std::ranges::sort(order);
  for (auto [ticks, bound, point] : order) {
    if (options.deadline.hasPassed())
      break;
    if (!fits(point))
      continue;
    chosenPacking = points.pack(point);
    if (fits(point))
      return point;
  }
  return options.deadline.hasPassed() ? takeSmallest() : kNoIndex;
}

/// What needs the least memory of all that take at most `limit` ticks: whatever has the lowest bound is
/// packed, until that is a packing.
int Searcher::leastMemoryWithin(int64_t limit) {
  using Entry = std::tuple<int64_t, int64_t, int>; // bytes, ticks, point
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  auto add = [&](int point) {
    if (fits(point))
      open.emplace(points.counted(point), points.ticks(point), point);
  };
  for (int point = 0; point < points.count(); ++point)
    if (points.isAllowed(point) && points.ticks(point) <= limit)
      add(point);
  while (!open.empty() && !options.deadline.hasPassed()) {
    auto [bytes, ticks, point] = open.top();
    if (point == fastest)
      return fastest;
    open.pop();
    Packing packing = points.pack(point);
    if (points.counted(point) == bytes) {
      chosenPacking = std::move(packing);
      return point;
    }
    add(point);
  }
  return fastest;
}

int Searcher::choose() {
  points.forgetAgain();
  fastest = fastestThatFits();
  if (fastest == kNoIndex || options.prefer == "speed")
    return fastest;
  int64_t limit = INT64_MAX;
  if (options.prefer == "balanced")
    limit = static_cast<int64_t>(static_cast<double>(points.ticks(fastest)) * (1 + toleranceOf(profile)));
  return leastMemoryWithin(limit);
}

/// Where there is no time left: what needs the least, if it fits.
int Searcher::takeSmallest() {
  int least = leastOfAll();
  if (!points.isAllowed(least) || !fits(least))
    return kNoIndex;
  chosenPacking = points.pack(least);
  return fits(least) ? least : kNoIndex;
}

/// Packs what the table shows and may fit, so that it shows arenas and not bounds, as far as that stays
/// cheap.
void Searcher::packForTable() {
  size_t rectangles = 0;
  for (int size = 0; size < points.sizeCount(); ++size)
    while (true) {
      int point = points.representative(size, search.budget);
      if (!fits(point) || points.isPacked(point) || options.deadline.hasPassed())
        break;
      rectangles += problem.buffers.size() + problem.commands.size();
      if (rectangles > kTableRectangles)
        return;
      points.pack(point);
    }
}

int Searcher::leastOfAll() const {
  int least = kNoIndex;
  for (int size = 0; size < points.sizeCount(); ++size) {
    int point = points.least(size);
    if (least == kNoIndex || std::pair(!points.isAllowed(point), points.counted(point)) <
                                 std::pair(!points.isAllowed(least), points.counted(least)))
      least = point;
  }
  return least;
}

/// The point that needs the least, packed for real: the smallest budget that works. Of many buffers bounds
/// may be missed by all, one after the other; then it is the lowest of a few.
int Searcher::findSmallest() {
  size_t rectangles = 0;
  int lowest = kNoIndex;
  while (true) {
    int least = leastOfAll();
    bool isOver = options.deadline.hasPassed() || rectangles > kSmallestRectangles;
    if (points.isPacked(least) || (isOver && lowest != kNoIndex)) {
      lowest = points.isPacked(least) ? least : lowest;
      break;
    }
    points.pack(least);
    rectangles += problem.buffers.size() + problem.commands.size();
    if (lowest == kNoIndex || points.counted(least) < points.counted(lowest))
      lowest = least;
  }
  return lowest;
}

void Searcher::addCandidate(int point, int chosen) {
  const Sharing &sharing = points.sharing(point);
  Candidate candidate{.cut = points.cut(point), .scratch = points.scratch(point)};
  candidate.lowerBound = points.lowerBound(point);
  candidate.counted = points.counted(point);
  candidate.arena = points.state(point) + candidate.scratch;
  candidate.packed = points.isPacked(point);
  candidate.recomputed = points.alternative(point).recomputed;
  candidate.shard = toText(sharing.shard);
  candidate.offload = toText(sharing.offload);
  candidate.reduce = sharing.reduceEach ? "each" : "once";
  candidate.seconds = points.seconds(point);
  if (!fits(point)) {
    candidate.verdict = Verdict::DoesNotFit;
    candidate.over = candidate.counted - search.budget;
  } else if (!points.isAllowed(point)) {
    candidate.verdict = Verdict::NotDivisible;
    candidate.note = countOf(candidate.cut.last, "sample") + " in the last micro-step";
  } else if (chosen == point) {
    candidate.verdict = Verdict::Chosen;
  } else {
    candidate.verdict = points.ticks(point) <= points.ticks(chosen) ? Verdict::MoreMemory : Verdict::Slower;
    if (candidate.verdict == Verdict::Slower)
      candidate.note = whySlower(points, point, chosen, search.deviceBatch);
  }
  shown.push_back(point);
  search.candidates.push_back(candidate);
}

void Searcher::giveVerdicts(int chosen, int smallest) {
  for (int size = 0; size < points.sizeCount(); ++size) {
    bool isChosen = chosen != kNoIndex && points.sizeOf(chosen) == size;
    std::vector<int> rows = {isChosen ? chosen : points.representative(size, search.budget)};
    auto show = [&](int point) {
      if (points.sizeOf(point) == size && std::ranges::find(rows, point) == rows.end())
        rows.push_back(point);
    };
    show(smallest);
    if (chosen != kNoIndex)
      show(fastest);
    if (isChosen && points.isUsable(points.plain(chosen)))
      show(points.plain(chosen));
    std::ranges::sort(rows, {}, [&](int point) { return std::pair(points.ticks(point), point); });
    for (int point : rows)
      addCandidate(point, chosen);
  }
  search.smallest = static_cast<size_t>(std::ranges::find(shown, smallest) - shown.begin());
}

Plan Searcher::makePlan(int chosen) {
  const Choice &choice = points.alternative(chosen).choice;
  const Sharing &sharing = points.sharing(chosen);
  Plan plan{.problem = problem.name, .target = profile.name, .basis = profile.basis};
  plan.batch = options.batch;
  plan.devices = options.devices;
  plan.cut = points.cut(chosen);
  plan.alignment = profile.alignment;
  plan.state = points.state(chosen);
  plan.scratch = points.scratch(chosen);
  plan.lowerBound = points.lowerBound(chosen);
  plan.budget = search.budget;
  plan.shard = toText(sharing.shard);
  plan.offload = toText(sharing.offload);
  plan.reduce = sharing.reduceEach ? "each" : "once";
  plan.memory = search.memory;
  plan.candidates = search.candidates;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    if (choice.recomputed[index] != 0)
      plan.recompute.push_back(command.id);
    if (choice.variants[index] != 0)
      plan.variants.emplace_back(command.id, command.variants[choice.variants[index]].name);
  }
  Layout layout = points.layout(chosen);
  const Problem &runs = points.runs(chosen);
  for (size_t index = 0; index < runs.buffers.size(); ++index) {
    int block = layout.blockOfBuffer[index];
    plan.slots.emplace_back(runs.buffers[index].id, block == kNoIndex ? 0 : chosenPacking.offsets[block]);
  }
  for (size_t index = 0; index < runs.commands.size(); ++index)
    if (int block = layout.blockOfWorkspace[index]; block != kNoIndex)
      plan.slots.emplace_back(fmt::format("{}:w", runs.commands[index].id), chosenPacking.offsets[block]);
  std::sort(plan.slots.begin(), plan.slots.end());
  // What copies of weights take to make follows from whole ones, and not from what a device holds.
  Problem whole = copiedBytes(problem) > 0 ? expand(problem, choice) : Problem();
  TimeModel real(copiedBytes(problem) > 0 ? whole : runs, profile, options.devices);
  Concurrent beside = times.concurrent(plan.cut, sharing);
  beside.units = real.unitsAt(plan.cut.m, sharing);
  plan.time = real.step(plan.cut, sharing, beside);
  search.commands = real.commands(plan.cut);
  search.mfu = real.utilisation(search.deviceBatch, plan.seconds());
  search.recomputed = describeRecomputation(problem, times, choice);
  search.slices = describeSlices(problem, choice, plan.cut.m);
  search.sharing = describeSharing(sharing, options.devices, runs);
  return plan;
}

/// Everything that needs no search.
Status Searcher::prepare() {
  Result<Cuts> cuts = enumerateCuts(options);
  if (!cuts)
    return cuts.error();
  Result<std::vector<Sharing>> ways = sharingWays(problem, profile, options);
  if (!ways)
    return ways.error();
  search.budget = options.budget.value_or(profile.memoryUsable);
  if (search.budget < 1 && profile.memoryTotal == 0)
    return Error{fmt::format("target {} does not say how much memory there is", profile.name),
                 "usage",
                 {"--memory SIZE says it"}};
  if (Status status = checkAmounts(problem, cuts->cuts.back().m, cuts->cuts.front().m); !status)
    return status.error();
  search.problem = problem.name;
  search.target = profile.name;
  search.basis = profile.basis;
  search.batch = options.batch;
  search.devices = options.devices;
  search.deviceBatch = deviceBatch(options);
  search.memoryTotal = profile.memoryTotal;
  search.tokensPerSample = problem.tokensPerSample;
  search.notices = cuts->notices;
  points.measure(*cuts, *ways);
  return {};
}

Result<Search> Searcher::run() {
  if (Status status = prepare(); !status)
    return status.error();
  int chosen = choose();
  if (chosen != kNoIndex)
    points.countAgain(chosen);
  packForTable();
  int smallest = findSmallest();
  giveVerdicts(chosen, smallest);
  int told = chosen == kNoIndex ? smallest : chosen;
  auto row = static_cast<size_t>(std::ranges::find(shown, told) - shown.begin());
  search.peak = peakMoment(points.runs(told), points.cut(told).m, profile.alignment);
  search.memory = memoryLines(problem, points.fixedMemory(told), profile, options.devices,
                              search.candidates[row], search.peak);
  if (chosen != kNoIndex)
    search.plan = makePlan(chosen);
  if (options.deadline.hasPassed())
    search.notices.emplace_back("the search ended at its deadline: with more time it may find a better plan");
  return std::move(search);
}

Result<std::vector<std::optional<Candidate>>> Searcher::choices(const std::vector<int64_t> &budgets) {
  if (Status status = prepare(); !status)
    return status.error();
  std::vector<std::optional<Candidate>> answers;
  for (int64_t budget : budgets) {
    search.budget = budget;
    int chosen = choose();
    if (chosen != kNoIndex) {
      points.countAgain(chosen);
      addCandidate(chosen, chosen);
    }
    answers.push_back(chosen == kNoIndex ? std::nullopt : std::optional(search.candidates.back()));
  }
  return answers;
}

} // namespace

/// The time model's error is a few per cent of a step between machines, and about half of it on a machine
/// that was calibrated; between two plans of one program most of it cancels.
double toleranceOf(const DeviceProfile &profile) { return profile.basis == "measured" ? 0.005 : 0.01; }

Result<std::vector<std::optional<Candidate>>> chooseFor(const Problem &problem, const DeviceProfile &profile,
                                                        const Options &options,
                                                        const std::vector<int64_t> &budgets) {
  return Searcher(problem, profile, options).choices(budgets);
}

Result<Search> solve(const Problem &problem, const DeviceProfile &profile, const Options &options) {
  auto begin = std::chrono::steady_clock::now();
  Result<Search> search = Searcher(problem, profile, options).run();
  if (search)
    search->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return search;
}

} // namespace accum::planner
