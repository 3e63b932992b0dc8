// SPDX-License-Identifier: Apache-2.0
// Sums per point, and the packing of the few that decide.
#include "compiler/Planner/Search/SearchSpace.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include <algorithm>
#include <cmath>

namespace accum::planner {

namespace {

/// Points that are compared at most.
constexpr size_t kMaxPoints = 4'000'000;

} // namespace

SearchSpace::SearchSpace(const Problem &problem, const DeviceProfile &profile, const Options &options,
                         const TimeModel &times)
    : problem(problem), profile(profile), options(options), times(times),
      sliced(std::ranges::any_of(problem.commands, [](const Command &command) {
        return std::ranges::any_of(command.variants, [](const Variant &way) { return way.slice > 0; });
      })) {}

SearchSpace::Size SearchSpace::sizeAt(const Cut &cut) const {
  std::vector<RegionTime> regions = times.regions(cut.m);
  Concurrent concurrent = times.concurrent(cut, regions);
  int main = problem.mainPhase();
  Size size{cut, main == kNoIndex ? RegionTime() : regions[main]};
  int64_t overhead = 0;
  for (const Overhead &line : profile.overheads)
    overhead += line.counted ? bytesOf(line, problem, options.devices, cut.m) : 0;
  for (size_t index = 0; index < ways.size(); ++index) {
    Way &way = size.ways.emplace_back();
    way.counted = overhead;
    for (const FixedMemory &line : fixed[index]) {
      int64_t bytes = line.bytes.at(cut.m);
      way.counted += bytes;
      way.state += line.kind == FixedKind::State ? bytes : 0;
    }
    concurrent.units = times.unitsAt(cut.m, ways[index]);
    for (const TimeLine &line : times.step(cut, ways[index], concurrent, regions))
      way.seconds += line.seconds;
  }
  return size;
}

void SearchSpace::findKinds() {
  if (copiedBytes(problem) == 0) { // it may be large: no copy
    kindOfWay.assign(ways.size(), 0);
    kinds.push_back(&problem);
    return;
  }
  std::vector<int64_t> held; // per kind, of the copies
  for (const Sharing &way : ways) {
    Problem own = sharedProblem(problem, way, options.devices);
    auto known = std::ranges::find(held, copiedBytes(own));
    kindOfWay.push_back(static_cast<int>(known - held.begin()));
    if (known != held.end())
      continue;
    held.push_back(copiedBytes(own));
    kinds.push_back(&shared.emplace_back(std::move(own)));
  }
}

/// Found for the sizes that are asked for. Where these are not all sizes, also what is found for all: a size
/// that was chosen among all is as fast, and fits as well, when it is asked for alone.
std::shared_ptr<const Alternatives> SearchSpace::alternativesFor(const Cuts &cuts) const {
  int64_t smallest = cuts.cuts.back().m, largest = cuts.cuts.front().m, whole = deviceBatch(options);
  AlternativeCache own;
  AlternativeCache &known = options.known ? *options.known : own;
  auto find = [&](int64_t from, int64_t to) {
    return known.find(problem, times, options.devices, from, to, options.recompute != "none",
                      {.deadline = options.deadline});
  };
  std::shared_ptr<const Alternatives> asked = find(smallest, largest);
  if ((smallest == 1 && largest == whole) || asked->isComplete || !checkAmounts(problem, 1, whole))
    return asked;
  auto both = std::make_shared<Alternatives>(*asked);
  both->join(*find(1, whole), times, smallest, largest);
  return both;
}

void SearchSpace::measure(const Cuts &cuts, const std::vector<Sharing> &allWays) {
  ways = allWays;
  forgetAgain();
  for (const Sharing &way : ways)
    fixed.push_back(sharedMemory(problem, way, options.devices));
  findKinds();
  alternatives = alternativesFor(cuts);
  size_t most = std::max<size_t>(1, kMaxPoints / cuts.cuts.size() / ways.size());
  int64_t whole = copiedBytes(problem);
  std::vector<int64_t> copies; // per kind
  for (const Problem *own : kinds)
    copies.push_back(copiedBytes(*own));
  taken = static_cast<int>(std::min(alternatives->list.size(), most));
  for (const Cut &cut : cuts.cuts) {
    sizes.push_back(sizeAt(cut));
    std::vector<double> added = alternatives->addedSeconds(times, cut.m);
    for (int index = 0; index < taken; ++index) {
      int64_t peak = alternatives->list[index].peak.at(cut.m);
      for (int64_t own : copies) { // they are there at every moment
        int64_t load = std::max<int64_t>(0, peak - whole + own);
        loads.push_back({load, load, static_cast<double>(cut.steps) * added[index]});
      }
    }
  }
  restrict();
}

/// `--recompute all`: of each size the alternative with the lowest peak.
void SearchSpace::restrict() {
  usable.assign(loads.size() / kinds.size() * ways.size(), 1);
  if (options.recompute != "all")
    return;
  for (int size = 0; size < sizeCount(); ++size) {
    int lowest = begin(size);
    for (int point = lowest; point < begin(size + 1); point += wayCount())
      if (isUsable(point) && std::pair(loadOf(point).scratch, loadOf(point).added) <
                                 std::pair(loadOf(lowest).scratch, loadOf(lowest).added))
        lowest = point;
    for (int point = begin(size); point < begin(size + 1); ++point)
      if (alternativeOf(point) != alternativeOf(lowest))
        usable[point] = 0;
  }
}

double SearchSpace::seconds(int point) const {
  const Size &size = sizes[sizeOf(point)];
  double more = static_cast<double>(size.cut.steps) * again[wayOf(point)];
  return std::max(0.0, size.ways[wayOf(point)].seconds + loadOf(point).added + more);
}

void SearchSpace::countAgain(int point) {
  const Sharing &way = sharing(point);
  auto asked = times.unitsAt(cut(point).m, way);
  if (!asked)
    return;
  auto real = TimeModel(runs(point), profile, options.devices).unitsAt(cut(point).m, way);
  for (size_t index = 0; index < ways.size(); ++index)
    if (ways[index].shard == way.shard)
      again[index] = real->exposed() - asked->exposed();
}

int64_t SearchSpace::ticks(int point) const {
  return static_cast<int64_t>(std::llround(std::min(seconds(point), 9e6) * 1e12));
}

const SearchSpace::Expanded &SearchSpace::expandedOf(int point) {
  std::pair index(alternativeOf(point), kindOfWay[wayOf(point)]);
  if (expandedIndex != index)
    expanded.emplace(*kinds[index.second], alternative(point).choice);
  expandedIndex = index;
  return *expanded;
}

Layout SearchSpace::layout(int point) {
  const Expanded &what = expandedOf(point);
  return layOut(what.problem, what.lifetimes, cut(point).m, profile.alignment);
}

Packing SearchSpace::pack(int point) {
  Load &load = loadOf(point);
  Layout blocks = layout(point);
  load.lowerBound = maxLoad(blocks.blocks);
  Packing packing = planner::pack(blocks.blocks, {.seed = options.seed, .deadline = options.deadline});
  load.scratch = packing.height;
  load.packed = true;
  return packing;
}

int SearchSpace::least(int size) const {
  int best = kNoIndex;
  for (int point = begin(size); point < begin(size + 1); ++point)
    if (isUsable(point) &&
        (best == kNoIndex || std::pair(counted(point), ticks(point)) < std::pair(counted(best), ticks(best))))
      best = point;
  return best;
}

int SearchSpace::representative(int size, int64_t budget) const {
  int best = kNoIndex;
  for (int point = begin(size); point < begin(size + 1); ++point)
    if (isUsable(point) && counted(point) <= budget &&
        (best == kNoIndex || std::pair(ticks(point), counted(point)) < std::pair(ticks(best), counted(best))))
      best = point;
  return best == kNoIndex ? least(size) : best;
}

} // namespace accum::planner
