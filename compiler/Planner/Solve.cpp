// SPDX-License-Identifier: Apache-2.0
// The search over micro-batch sizes: bounds and times for all, packing where it decides, then the verdicts.
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/Alternatives.h"
#include "compiler/Planner/MemoryLines.h"
#include "compiler/Planner/Reasons.h"
#include "compiler/Planner/Storage.h"
#include "compiler/Planner/TimeModel.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace accum::planner {

namespace {

/// Rectangles that may be packed for the table alone, once the choice has been made.
constexpr size_t kTableRectangles = 400'000;
/// Pairs of a size and an alternative that are compared at most.
constexpr size_t kMaxPoints = 4'000'000;

/// What does not depend on the alternative at one size.
struct Size {
  Cut cut = {};
  int64_t state = 0, counted = 0; ///< fixed bytes
  double seconds = 0;             ///< a whole step, everything in its default
  RegionTime micro = {};
};

/// One alternative at one size.
struct Point {
  int64_t ticks = 0; ///< predicted picoseconds: what times are compared by
  double seconds = 0;
  int64_t scratch = 0; ///< near the lower bound until it is packed
  int64_t lowerBound = 0;
  bool packed = false;
  bool usable = true; ///< what the options leave of the alternatives
};

/// An alternative as the problem that runs.
struct Expanded {
  explicit Expanded(Problem &&expanded) : problem(std::move(expanded)), lifetimes(problem) {}
  Problem problem;
  Lifetimes lifetimes;
};

class Searcher {
public:
  Searcher(const Problem &problem, const DeviceProfile &profile, const Options &options)
      : problem(problem), profile(profile), options(options), times(problem, profile, options.devices) {}

  Result<Search> run();

private:
  void measure(const Cuts &cuts);
  void keepLeast(int size);
  Size sizeAt(const Cut &cut) const;
  const Expanded &expandedOf(int point);
  Layout layoutOf(int point);
  Packing packAt(int point);
  int choose();
  void packForTable();
  int findSmallest();
  int representative(int size) const;
  int leastOf(int size) const;
  void giveVerdicts(int chosen, int smallest);
  void addCandidate(int point, int chosen);
  std::string whySlower(int point, int chosen) const;
  Plan makePlan(int chosen);

  // A point is an index: size by size, alternative by alternative.
  int sizeOf(int point) const { return point / width(); }
  int alternativeOf(int point) const { return point % width(); }
  int width() const { return static_cast<int>(alternatives.list.size()); }
  int64_t counted(int point) const { return sizes[sizeOf(point)].counted + points[point].scratch; }
  bool fits(int point) const { return counted(point) <= search.budget; }
  bool allowed(int point) const {
    const Cut &cut = sizes[sizeOf(point)].cut;
    return points[point].usable && (!options.requireDivisible || cut.last == cut.m);
  }

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  TimeModel times;
  Alternatives alternatives;
  Search search;
  std::vector<Size> sizes; ///< largest m first
  std::vector<Point> points;
  std::vector<int> shown; ///< the points of `search.candidates`
  Packing chosenPacking;
  std::optional<Expanded> expanded; ///< the last one asked for
  int expandedIndex = kNoIndex;
};

Size Searcher::sizeAt(const Cut &cut) const {
  Size size{cut};
  for (const FixedMemory &fixed : problem.fixed) {
    int64_t bytes = fixed.bytes.at(cut.m);
    size.counted += bytes;
    size.state += fixed.kind == FixedKind::State ? bytes : 0;
  }
  for (const Overhead &overhead : profile.overheads)
    if (overhead.counted && (!overhead.onlyParallel || options.devices > 1))
      size.counted += overhead.bytes;
  for (const TimeLine &line : times.step(cut))
    size.seconds += line.seconds;
  size.micro = times.regions(cut.m)[static_cast<int>(Region::Micro)];
  return size;
}

/// Times and loads of all points.
void Searcher::measure(const Cuts &cuts) {
  alternatives =
      findAlternatives(problem, times, cuts.cuts.back().m, cuts.cuts.front().m, options.recompute != "none");
  if (alternatives.list.size() > std::max<size_t>(1, kMaxPoints / cuts.cuts.size()))
    alternatives.list.resize(std::max<size_t>(1, kMaxPoints / cuts.cuts.size()));
  for (const Cut &cut : cuts.cuts) {
    sizes.push_back(sizeAt(cut));
    std::vector<double> added = alternatives.addedSeconds(times, cut.m);
    for (size_t index = 0; index < added.size(); ++index) {
      Point &point = points.emplace_back();
      point.seconds = sizes.back().seconds + static_cast<double>(cut.steps) * added[index];
      point.ticks = static_cast<int64_t>(std::llround(std::clamp(point.seconds, 0.0, 9e6) * 1e12));
      point.scratch = point.lowerBound = alternatives.list[index].peak.at(cut.m);
    }
    if (options.recompute == "all")
      keepLeast(static_cast<int>(sizes.size()) - 1);
  }
}

/// Leaves only the alternative with the lowest peak.
void Searcher::keepLeast(int size) {
  int least = leastOf(size);
  for (int index = size * width(); index < (size + 1) * width(); ++index)
    points[index].usable = index == least;
}

const Expanded &Searcher::expandedOf(int point) {
  if (expandedIndex != alternativeOf(point))
    expanded.emplace(expand(problem, alternatives.list[alternativeOf(point)].choice));
  expandedIndex = alternativeOf(point);
  return *expanded;
}

Layout Searcher::layoutOf(int point) {
  const Expanded &runs = expandedOf(point);
  return layOut(runs.problem, runs.lifetimes, sizes[sizeOf(point)].cut.m, profile.alignment);
}

/// Replaces the bound by a real packing, as far as it may fit.
Packing Searcher::packAt(int index) {
  Point &point = points[index];
  Layout layout = layoutOf(index);
  point.scratch = point.lowerBound = maxLoad(layout.blocks);
  Packing packing = pack(layout.blocks);
  point.scratch = packing.height;
  point.packed = true;
  return packing;
}

/// The fastest that fits, by packing in the order of time; among equals the one with the least memory.
int Searcher::choose() {
  std::vector<int> order;
  for (int index = 0; index < static_cast<int>(points.size()); ++index)
    if (allowed(index) && fits(index))
      order.push_back(index);
  std::ranges::sort(order, {},
                    [&](int index) { return std::tuple(points[index].ticks, counted(index), index); });
  int chosen = kNoIndex;
  for (int index : order) {
    if (chosen != kNoIndex && points[index].ticks > points[chosen].ticks)
      break;
    if (chosen != kNoIndex && counted(index) >= counted(chosen))
      continue;
    Packing packing = packAt(index);
    if (!fits(index) || (chosen != kNoIndex && counted(index) >= counted(chosen)))
      continue;
    chosen = index;
    chosenPacking = std::move(packing);
  }
  return chosen;
}

/// The point that stands for its size: the fastest that fits, else the one that needs least.
int Searcher::representative(int size) const {
  int best = kNoIndex;
  for (int index = size * width(); index < (size + 1) * width(); ++index)
    if (points[index].usable && fits(index) &&
        (best == kNoIndex ||
         std::pair(points[index].ticks, counted(index)) < std::pair(points[best].ticks, counted(best))))
      best = index;
  return best == kNoIndex ? leastOf(size) : best;
}

int Searcher::leastOf(int size) const {
  int best = kNoIndex;
  for (int index = size * width(); index < (size + 1) * width(); ++index)
    if (points[index].usable && (best == kNoIndex || std::pair(counted(index), points[index].ticks) <
                                                         std::pair(counted(best), points[best].ticks)))
      best = index;
  return best;
}

/// Packs what the table shows and may fit, so that it shows arenas and not bounds, as far as that stays
/// cheap.
void Searcher::packForTable() {
  size_t rectangles = 0;
  for (int size = 0; size < static_cast<int>(sizes.size()); ++size)
    for (int index = representative(size); fits(index) && !points[index].packed;
         index = representative(size)) {
      rectangles += problem.buffers.size() + problem.commands.size();
      if (rectangles > kTableRectangles)
        return;
      packAt(index);
    }
}

/// The point that needs the least, packed for real: the smallest budget that works.
int Searcher::findSmallest() {
  while (true) {
    int least = kNoIndex;
    for (int size = 0; size < static_cast<int>(sizes.size()); ++size) {
      int index = leastOf(size);
      if (least == kNoIndex ||
          std::pair(!allowed(index), counted(index)) < std::pair(!allowed(least), counted(least)))
        least = index;
    }
    if (points[least].packed)
      return least;
    packAt(least);
  }
}

std::string Searcher::whySlower(int point, int chosen) const {
  const Size &size = sizes[sizeOf(point)], &best = sizes[sizeOf(chosen)];
  std::vector<std::string> reasons;
  auto count = [](int64_t n, const char *one, const char *many) {
    return fmt::format("{} {}", n == 1 ? "one" : fmt::format("{}", n), n == 1 ? one : many);
  };
  if (int64_t padded = size.cut.m * size.cut.steps - search.deviceBatch; padded > 0)
    reasons.push_back(count(padded, "padded row", "padded rows"));
  if (int again = alternatives.list[alternativeOf(point)].recomputed; again > 0)
    reasons.push_back(count(again, "command recomputed", "commands recomputed"));
  double launches = size.micro.launch / size.micro.total, memory = size.micro.memory / size.micro.total;
  if (launches > 0.3)
    reasons.push_back("launch-bound");
  else if (memory > best.micro.memory / best.micro.total + 0.05)
    reasons.push_back("more time waits for memory");
  if (size.cut.steps > best.cut.steps)
    reasons.push_back(count(size.cut.steps - best.cut.steps, "more micro-step", "more micro-steps"));
  else if (reasons.empty() && size.cut.steps < best.cut.steps)
    reasons.push_back("the time per sample is higher");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

void Searcher::addCandidate(int index, int chosen) {
  const Size &size = sizes[sizeOf(index)];
  const Point &point = points[index];
  Candidate candidate{.cut = size.cut, .scratch = point.scratch, .lowerBound = point.lowerBound};
  candidate.counted = counted(index);
  candidate.arena = size.state + point.scratch;
  candidate.packed = point.packed;
  candidate.recomputed = alternatives.list[alternativeOf(index)].recomputed;
  candidate.seconds = point.seconds;
  if (!fits(index)) {
    candidate.verdict = Verdict::DoesNotFit;
    candidate.over = candidate.counted - search.budget;
  } else if (!allowed(index)) {
    candidate.verdict = Verdict::NotDivisible;
    candidate.note = fmt::format("{} samples in the last micro-step", candidate.cut.last);
  } else if (chosen == index) {
    candidate.verdict = Verdict::Chosen;
  } else {
    candidate.verdict = point.ticks == points[chosen].ticks ? Verdict::MoreMemory : Verdict::Slower;
    candidate.note = whySlower(index, chosen);
  }
  shown.push_back(index);
  search.candidates.push_back(candidate);
}

void Searcher::giveVerdicts(int chosen, int smallest) {
  for (int size = 0; size < static_cast<int>(sizes.size()); ++size) {
    std::vector<int> rows = {chosen != kNoIndex && sizeOf(chosen) == size ? chosen : representative(size)};
    auto show = [&](int index) {
      if (sizeOf(index) == size && std::ranges::find(rows, index) == rows.end())
        rows.push_back(index);
    };
    show(smallest);
    if (chosen != kNoIndex && options.recompute == "auto")
      show(sizeOf(chosen) * width()); // the same size with nothing recomputed
    std::ranges::sort(rows, {}, [&](int index) { return std::pair(points[index].ticks, index); });
    for (int index : rows)
      addCandidate(index, chosen);
  }
  search.smallest = static_cast<size_t>(std::ranges::find(shown, smallest) - shown.begin());
}

Plan Searcher::makePlan(int chosen) {
  const Size &size = sizes[sizeOf(chosen)];
  const Point &point = points[chosen];
  const Choice &choice = alternatives.list[alternativeOf(chosen)].choice;
  Plan plan{.problem = problem.name, .target = profile.name, .basis = profile.basis};
  plan.batch = options.batch;
  plan.devices = options.devices;
  plan.cut = size.cut;
  plan.alignment = profile.alignment;
  plan.state = size.state;
  plan.scratch = point.scratch;
  plan.lowerBound = point.lowerBound;
  plan.budget = search.budget;
  plan.memory = search.memory;
  plan.candidates = search.candidates;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    if (choice.recomputed[index] != 0)
      plan.recompute.push_back(command.id);
    if (choice.variants[index] != 0)
      plan.variants.emplace_back(command.id, command.variants[choice.variants[index]].name);
  }
  Layout layout = layoutOf(chosen);
  const Problem &runs = expandedOf(chosen).problem;
  plan.time = TimeModel(runs, profile, options.devices).step(size.cut);
  for (size_t index = 0; index < runs.buffers.size(); ++index) {
    int block = layout.blockOfBuffer[index];
    plan.slots.emplace_back(runs.buffers[index].id, block == kNoIndex ? 0 : chosenPacking.offsets[block]);
  }
  for (size_t index = 0; index < runs.commands.size(); ++index)
    if (int block = layout.blockOfWorkspace[index]; block != kNoIndex)
      plan.slots.emplace_back(fmt::format("{}:w", runs.commands[index].id), chosenPacking.offsets[block]);
  std::sort(plan.slots.begin(), plan.slots.end());
  search.recomputed = describeRecomputation(problem, times, choice);
  search.mfu = TimeModel(runs, profile, options.devices).utilisation(search.deviceBatch, plan.seconds());
  return plan;
}

Result<Search> Searcher::run() {
  Result<Cuts> cuts = enumerateCuts(options);
  if (!cuts)
    return cuts.error();
  search.budget = options.budget.value_or(profile.memoryUsable);
  if (search.budget < 1)
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
  measure(*cuts);
  int chosen = choose();
  packForTable();
  int smallest = findSmallest();
  giveVerdicts(chosen, smallest);
  int told = chosen == kNoIndex ? smallest : chosen;
  auto row = static_cast<size_t>(std::ranges::find(shown, told) - shown.begin());
  const Problem &runs = expandedOf(told).problem;
  search.peak = peakMoment(runs, sizes[sizeOf(told)].cut.m, profile.alignment);
  search.memory = memoryLines(runs, profile, options.devices, search.candidates[row], search.peak);
  if (chosen != kNoIndex)
    search.plan = makePlan(chosen);
  return std::move(search);
}

} // namespace

Result<Search> solve(const Problem &problem, const DeviceProfile &profile, const Options &options) {
  auto begin = std::chrono::steady_clock::now();
  Result<Search> search = Searcher(problem, profile, options).run();
  if (search)
    search->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return search;
}

} // namespace accum::planner
