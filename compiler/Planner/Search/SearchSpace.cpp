// SPDX-License-Identifier: Apache-2.0
// Sums per point, and the packing of the few that decide.
#include "compiler/Planner/Search/SearchSpace.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include <algorithm>
#include <cmath>
#include <ranges>

namespace accum::planner {

namespace {

/// Points that are compared at most.
constexpr size_t kMaxPoints = 2'000'000;

} // namespace

SearchSpace::SearchSpace(const Problem &problem, const DeviceProfile &profile, const Options &options,
                         const TimeModel &times)
    : problem(problem), profile(profile), options(options), times(times),
      sliced(std::ranges::any_of(problem.commands, [](const Command &command) {
        return std::ranges::any_of(command.variants, [](const Variant &way) { return way.slice > 0; });
      })) {}

SearchSpace::Size SearchSpace::sizeAt(const Cut &cut) const {
  Size size{cut, times.regions(cut.m)};
  size.micro = times.mainLoop(size.regions);
  size.concurrent = times.concurrent(cut, size.regions);
  for (const Overhead &line : profile.overheads)
    (line.counted ? size.counted : size.context) += bytesOf(line, problem, options.devices, cut.m);
  return size;
}

SearchSpace::Fixed SearchSpace::fixedAt(const MeasuredMode &measured, const Size &size) const {
  Fixed fixed{0, size.counted, size.context};
  for (const FixedMemory &line : measured.lines) {
    int64_t bytes = line.bytes.at(size.cut.m);
    fixed.counted += bytes;
    fixed.state += line.kind == FixedKind::State ? bytes : 0;
  }
  const Sharing &sharing = measured.mode.sharing;
  Concurrent concurrent = size.concurrent;
  concurrent.units = times.unitsAt(size.cut.m, sharing, measured.held);
  for (const TimeLine &line : times.step(size.cut, sharing, concurrent, size.regions)) {
    fixed.seconds += line.seconds;
    fixed.forUnits += isForUnits(line) ? line.seconds : 0;
  }
  return fixed;
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

void SearchSpace::measure(const Cuts &cuts) {
  alternatives = alternativesFor(cuts);
  taken = static_cast<int>(
      std::min(alternatives->list.size(), std::max<size_t>(1, kMaxPoints / cuts.cuts.size())));
  for (const Cut &cut : cuts.cuts) {
    sizes.push_back(sizeAt(cut));
    added.push_back(alternatives->addedSeconds(times, cut.m));
    for (double &each : added.back())
      each *= static_cast<double>(cut.steps);
  }
}

int SearchSpace::addMode(const Mode &mode) {
  auto known = std::ranges::find(modes, mode, &MeasuredMode::mode);
  if (known != modes.end())
    return static_cast<int>(known - modes.begin());
  UnitMemory memory = unitMemory(problem, mode.sharing, options.devices, mode.room);
  MeasuredMode measured{mode, memory.room, sharedMemory(problem, mode.sharing, options.devices, memory), {}};
  measured.kind = kindFor(mode.sharing);
  for (const Size &size : sizes)
    measured.fixed.push_back(fixedAt(measured, size));
  modes.push_back(std::move(measured));
  return static_cast<int>(modes.size()) - 1;
}

size_t SearchSpace::kindFor(const Sharing &sharing) {
  int64_t whole = copiedBytes(problem);
  int64_t held = whole > 0 && sharing.cutsParameters(options.devices) ? 0 : whole;
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    if (copiedBytes(*kinds[kind].problem) == held)
      return kind;
  const Problem *own = &problem; // it may be large: no copy where it is the same
  if (held != whole)
    own = &shared.emplace_back(sharedProblem(problem, sharing, options.devices));
  kinds.push_back(measureKind(*own));
  return kinds.size() - 1;
}

SearchSpace::Kind SearchSpace::measureKind(const Problem &own) const {
  Kind kind{&own, {}, {}};
  int64_t less = copiedBytes(problem) - copiedBytes(own); // copies are there at every moment
  for (size_t size = 0; size < sizes.size(); ++size)
    for (int index = 0; index < taken; ++index) {
      int64_t load = std::max<int64_t>(0, alternatives->list[index].peak.at(sizes[size].cut.m) - less);
      kind.loads.push_back({load, load});
    }
  for (size_t size = 0; options.recompute == "all" && size < sizes.size(); ++size) {
    auto lowest = std::ranges::min(std::views::iota(0, taken), {}, [&](int index) {
      return std::pair(kind.loads[size * static_cast<size_t>(taken) + static_cast<size_t>(index)].scratch,
                       added[size][index]);
    });
    kind.only.push_back(lowest);
  }
  return kind;
}

bool SearchSpace::isUsable(int point) const {
  const std::vector<int> &only = kindOf(point).only;
  return only.empty() || only[sizeOf(point)] == alternativeOf(point);
}

double SearchSpace::seconds(int point) const {
  double more = static_cast<double>(cut(point).steps) * modes[modeOf(point)].again;
  return std::max(0.0, fixedOf(point).seconds + added[sizeOf(point)][alternativeOf(point)] + more);
}

double SearchSpace::secondsForUnits(int point) const {
  return fixedOf(point).forUnits + static_cast<double>(cut(point).steps) * modes[modeOf(point)].again;
}

void SearchSpace::addRepeatedGathers(int point) {
  auto asked = times.unitsAt(cut(point).m, sharing(point), room(point));
  if (!asked)
    return;
  TimeModel repeated(runs(point), profile, options.devices);
  auto real = repeated.unitsAt(cut(point).m, sharing(point), room(point));
  for (int mode : considered)
    if (modes[mode].mode.sharing.shard == sharing(point).shard)
      modes[mode].again = real->exposed() - asked->exposed();
}

void SearchSpace::forgetRepeatedGathers() {
  for (int mode : considered)
    modes[mode].again = 0;
}

int64_t SearchSpace::ticks(int point) const {
  return static_cast<int64_t>(std::llround(std::min(seconds(point), 9e6) * 1e12));
}

const SearchSpace::Expanded &SearchSpace::expandedOf(int point) {
  std::pair index(alternativeOf(point), modes[modeOf(point)].kind);
  if (!expanded || expandedIndex != index)
    expanded.emplace(*kinds[index.second].problem, alternative(point).choice);
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

std::optional<UnitRooms> SearchSpace::unitRooms(int point) {
  if (!sharing(point).hasUnits(options.devices))
    return std::nullopt;
  return planner::unitRooms(runs(point), unitUse(sharing(point), options.devices));
}

int SearchSpace::least(int size) const {
  int best = kNoIndex;
  for (int index = 0; index < taken; ++index)
    for (int mode : considered) {
      int point = (mode * sizeCount() + size) * taken + index;
      if (isUsable(point) && (best == kNoIndex || std::pair(counted(point), ticks(point)) <
                                                      std::pair(counted(best), ticks(best))))
        best = point;
    }
  return best;
}

int SearchSpace::representative(int size, int64_t budget) const {
  int best = kNoIndex;
  for (int index = 0; index < taken; ++index)
    for (int mode : considered) {
      int point = (mode * sizeCount() + size) * taken + index;
      if (isUsable(point) && counted(point) <= budget &&
          (best == kNoIndex ||
           std::pair(ticks(point), counted(point)) < std::pair(ticks(best), counted(best))))
        best = point;
    }
  return best == kNoIndex ? least(size) : best;
}

} // namespace accum::planner
