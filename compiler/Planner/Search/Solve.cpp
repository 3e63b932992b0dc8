// SPDX-License-Identifier: Apache-2.0
// The choice among all points: times and bounds for all, packing where it decides, then the verdicts.
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Search/ModeSearch.h"
#include "compiler/Planner/Search/Reasons.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace accum::planner {

namespace {

/// Rectangles that may be packed for the table alone, once the choice has been made.
constexpr size_t kTableRectangles = 400'000;

class Searcher {
public:
  Searcher(const Problem &problem, const DeviceProfile &profile, const Options &options)
      : problem(problem), profile(profile), options(options), times(problem, profile, options.devices),
        points(problem, profile, options, times), chooser(points, profile, options),
        modeSearch(points, chooser, profile, options) {}

  Result<Search> run();
  Result<std::vector<std::optional<Candidate>>> choices(const std::vector<int64_t> &budgets);

private:
  Status prepare();
  const ModeChoice &choose(int64_t budget);
  void packForTable();
  void listModes(size_t chosen);
  void giveVerdicts(int chosen, int smallest);
  void addCandidate(int point, int chosen);
  Plan makePlan(int chosen);
  bool fits(int point) const { return chooser.fits(point); }

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  TimeModel times;
  SearchSpace points;
  PointChooser chooser;
  ModeSearch modeSearch;
  std::vector<Sharing> sharings; ///< that the options leave
  Search search;
  ChosenPoint best;
  std::vector<int> shown; ///< the points of `search.candidates`
};

const ModeChoice &Searcher::choose(int64_t budget) {
  chooser.budget = budget;
  const ModeChoice &choice = modeSearch.choices[modeSearch.run(sharings)];
  modeSearch.take(choice);
  return choice;
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
    candidate.over = candidate.counted - chooser.budget;
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

void Searcher::listModes(size_t chosen) {
  for (size_t index = 0; index < modeSearch.choices.size(); ++index) {
    const ModeChoice &each = modeSearch.choices[index];
    int point = each.chosen.point;
    bool fits = point != kNoIndex;
    TriedMode mode{each.sharings.front(), fits, fits && index == chosen, each.seconds};
    mode.bytes = fits ? points.total(point) : points.counted(each.smallest);
    mode.over = fits ? 0 : mode.bytes - chooser.budget;
    search.modes.push_back(mode);
  }
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
      show(best.fastest);
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
  plan.room = points.room(chosen);
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
    plan.slots.emplace_back(runs.buffers[index].id, block == kNoIndex ? 0 : best.packing.offsets[block]);
  }
  for (size_t index = 0; index < runs.commands.size(); ++index)
    if (int block = layout.blockOfWorkspace[index]; block != kNoIndex)
      plan.slots.emplace_back(fmt::format("{}:w", runs.commands[index].id), best.packing.offsets[block]);
  std::sort(plan.slots.begin(), plan.slots.end());
  // What copies of weights take to make follows from whole ones, and not from what a device holds.
  Problem whole = copiedBytes(problem) > 0 ? expand(problem, choice) : Problem();
  TimeModel real(copiedBytes(problem) > 0 ? whole : runs, profile, options.devices);
  Concurrent beside = times.concurrent(plan.cut, sharing);
  beside.units = real.unitsAt(plan.cut.m, sharing, plan.room);
  plan.time = real.step(plan.cut, sharing, beside);
  search.commands = real.commands(plan.cut);
  search.mfu = real.utilisation(search.deviceBatch, plan.seconds());
  search.recomputed = describeRecomputation(problem, times, choice);
  search.slices = describeSlices(problem, choice, plan.cut.m);
  search.sharing = describeSharing(sharing, options.devices, runs, plan.room);
  return plan;
}

/// Everything that needs no search.
Status Searcher::prepare() {
  Result<Cuts> cuts = enumerateCuts(options);
  if (!cuts)
    return cuts.error();
  Result<std::vector<Sharing>> asked = sharingModes(problem, profile, options);
  if (!asked)
    return asked.error();
  sharings = *asked;
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
  points.measure(*cuts);
  return {};
}

Result<Search> Searcher::run() {
  if (Status status = prepare(); !status)
    return status.error();
  const ModeChoice &choice = choose(search.budget);
  if (options.shard == "auto" || options.offload == "auto")
    listModes(static_cast<size_t>(&choice - modeSearch.choices.data()));
  best = choice.chosen;
  int chosen = best.point;
  packForTable();
  int smallest = chooser.smallest();
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
    int chosen = choose(budget).chosen.point;
    if (chosen != kNoIndex)
      addCandidate(chosen, chosen);
    answers.push_back(chosen == kNoIndex ? std::nullopt : std::optional(search.candidates.back()));
  }
  return answers;
}

} // namespace

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
