// SPDX-License-Identifier: Apache-2.0
// All choices where they are few; else cuts per price, improved decision by decision, tiled layer by layer.
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/Decisions.h"
#include "compiler/Planner/Search/ParetoFront.h"
#include "compiler/Planner/Search/PeakAnnealing.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_map>

namespace accum::planner {

/// Which choices were looked at, by hash.
static size_t hashOf(const Choice &choice) {
  auto hash = []<class Item>(const std::vector<Item> &items) {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char *>(items.data()), items.size() * sizeof(Item)});
  };
  return hash(choice.recomputed) * 0x9e3779b97f4a7c15 + hash(choice.variants);
}

class SeenChoices {
public:
  /// Whether nothing in `list` is the same choice. If so, it is the next of the list.
  bool add(const Choice &choice, const std::vector<Alternative> &list) {
    size_t key = hashOf(choice);
    auto [begin, end] = indices.equal_range(key);
    for (; begin != end; ++begin)
      if (list[begin->second].choice == choice)
        return false;
    indices.emplace(key, static_cast<int>(list.size()));
    return true;
  }

private:
  std::unordered_multimap<size_t, int> indices;
};

namespace {

constexpr size_t kHullPoints = 24;
constexpr int kMixRounds = 3;
/// Commands and buffers beyond which prices are not asked for: a cut may take a pass over the network for
/// each command of a chain.
constexpr int64_t kMostCut = 200'000;
/// Of the effort's visits, what may be spent before everything ends: a start's neighbours are all looked at,
/// however many they are.
constexpr int64_t kOvershoot = 64;
/// So many choices are all looked at and kept, whatever it takes.
constexpr int64_t kFew = 1024;
/// Draws that change nothing before the search at random ends.
constexpr int64_t kStale = 1500;

/// Looks of the walks to lower peaks, of the effort's visits two thirds: at most, and what is worth to begin.
constexpr int64_t kMostWalk = 8000, kFewestWalk = 100;
/// Peaks between the lowest before those walks and the lowest behind them, for which the fastest is asked.
constexpr int64_t kLevels = 4;
/// Of the effort at both ends, what the size between them takes besides.
constexpr int64_t kMiddleShare = 3;

class Finder {
public:
  Finder(const Problem &problem, const TimeModel &times, int64_t smallest, int64_t largest, bool recompute,
         const AlternativeEffort &effort)
      : problem(problem), times(times), effort(effort), flow(problem),
        loads(problem, flow, smallest, largest), decisions(problem, flow, recompute) {
    CostClasses classes = classifyCosts(problem, [&](int index) { return flow.isAllowed(index); });
    found.costClasses = std::move(classes.stands);
    costOf = std::move(classes.of);
    sizes.push_back({largest, 1, found.classTimes(times, largest)});
    if (smallest != largest)
      sizes.push_back({smallest, 0, found.classTimes(times, smallest)});
    count = static_cast<int64_t>(problem.commands.size() + problem.buffers.size() + 1);
    evaluations = std::clamp<int64_t>(effort.visits / count, 48, 12000);
  }

  Alternatives run() {
    look(decisions.none());
    int64_t exact = std::max(std::min(effort.exact, kFew), std::min(effort.exact, effort.visits / count));
    if (decisions.combinations(exact) <= exact) {
      found.isComplete = true;
      decisions.forAll([&](const Choice &choice) { look(choice); });
      keepUseful(kFew);
    } else {
      seed();
      explore(0, evaluations);
      exploreMiddle(evaluations / kMiddleShare);
      // Behind everything, and besides what is kept of it: whatever lower peaks there are, no budget that
      // something fits has a slower plan for them.
      int64_t before = length();
      for (const FrontsAtSize &size : sizes)
        lowerPeak(size);
      std::vector<Alternative> lower(std::make_move_iterator(found.list.begin() + before),
                                     std::make_move_iterator(found.list.end()));
      found.list.erase(found.list.begin() + before, found.list.end());
      keepUseful(0);
      found.addUseful(std::move(lower), times, sizes.back().m, sizes.front().m);
    }
    return std::move(found);
  }

private:
  /// From `begin` alternatives to `count` more: a third for classes, a third for mixtures, a sixth for single
  /// commands, the rest for chance.
  void explore(int64_t begin, int64_t count) {
    auto share = [&](int64_t part, int64_t of) { return count * part / of; };
    auto each = static_cast<int64_t>(sizes.size());
    for (int64_t at = 0; at < each; ++at)
      improve(sizes[at], false, begin + share(at + 1, 3 * each));
    for (int round = 0; round < kMixRounds; ++round)
      for (const FrontsAtSize &size : sizes)
        mix(size, share(1, int64_t{3} * kMixRounds * each));
    for (int64_t at = 0, before = length(); at < each; ++at)
      improve(sizes[at], true, before + share(at + 1, 6 * each));
    for (int64_t at = 0, before = length(); at < each; ++at)
      randomMoves(sizes[at], before + (at + 1) * (begin + count - before) / each);
  }
  void exploreMiddle(int64_t count);
  int64_t length() const { return static_cast<int64_t>(found.list.size()); }
  bool isOver() const { return effort.deadline.hasPassed() || looked > kOvershoot * effort.visits / count; }
  void look(const Choice &choice);
  void seed();
  void seedCuts(const Choice &start, int64_t m);
  void improve(const FrontsAtSize &size, bool single, int64_t until);
  void mix(const FrontsAtSize &size, int64_t count);
  void randomMoves(const FrontsAtSize &size, int64_t until);
  void lowerPeak(const FrontsAtSize &size);
  void speedUp(const FrontsAtSize &size, int64_t limit, int64_t until);
  void keepUseful(size_t enough) {
    if (!effort.deadline.hasPassed())
      found.keepUseful(times, sizes.back().m, sizes.front().m, enough);
  }

  const Problem &problem;
  const TimeModel &times;
  const AlternativeEffort &effort;
  std::vector<FrontsAtSize> sizes;
  Recomputation flow;
  LoadModel loads;
  Decisions decisions;
  Alternatives found;
  std::vector<std::vector<int>> costOf; ///< of CostClasses
  SeenChoices known;
  int64_t count = 0; ///< of commands and buffers
  int64_t evaluations = 0, looked = 0;
  int64_t useful = 0; ///< `looked` when last something belonged to a front
};

/// Looks at a choice, unless it is known already.
void Finder::look(const Choice &start) {
  if (!found.list.empty() && isOver())
    return;
  ++looked;
  Alternative entry;
  entry.choice = start;
  Choice &choice = entry.choice;
  std::vector<int> before = flow.positions(choice.recomputed);
  for (size_t index = 0; index < before.size(); ++index)
    choice.recomputed[index] = before[index] == kNoIndex ? 0 : 1;
  if (!known.add(choice, found.list))
    return;
  std::vector<int> costs(found.costClasses.size(), 0);
  for (size_t index = 0; index < before.size(); ++index) {
    int variant = choice.variants[index];
    if (variant != 0) {
      int repeats = problem.isMain(problem.commands[index]) ? 1 : 0;
      costs[costOf[index][variant]] += repeats;
      costs[costOf[index][0]] -= repeats;
    }
    if (before[index] != kNoIndex) {
      ++costs[costOf[index][variant]];
      ++entry.recomputed;
    }
  }
  for (size_t cost = 0; cost < costs.size(); ++cost)
    if (costs[cost] != 0)
      entry.costs.emplace_back(static_cast<int>(cost), costs[cost]);
  entry.peak = loads.peak(RunningOrder(before), choice);
  for (FrontsAtSize &size : sizes)
    if (size.add(entry, static_cast<int>(found.list.size())))
      useful = looked;
  found.list.push_back(std::move(entry));
}

/// Goes on from all so far at the size between the two, by its logarithm: what is best there lies on the
/// front of neither.
void Finder::exploreMiddle(int64_t count) {
  int64_t smallest = sizes.back().m, largest = sizes.front().m;
  auto m = static_cast<int64_t>(std::sqrt(static_cast<double>(smallest) * static_cast<double>(largest)));
  if (m <= smallest || m >= largest)
    return;
  auto learn = [&](std::vector<FrontsAtSize> &those, int64_t from) {
    for (int64_t index = from; index < length(); ++index)
      for (FrontsAtSize &size : those)
        size.add(found.list[index], static_cast<int>(index));
  };
  std::vector<FrontsAtSize> others;
  others.push_back({m, 0, found.classTimes(times, m)});
  learn(others, 0);
  std::swap(sizes, others);
  int64_t before = length();
  explore(before, count);
  std::swap(sizes, others);
  learn(sizes, before);
}

void Finder::seed() {
  for (const FrontsAtSize &size : sizes)
    decisions.forVariants([&](const Choice &start) {
      if (isOver())
        return;
      if (count <= kMostCut)
        seedCuts(start, size.m);
      for (int windows = 1; windows <= 16; windows *= 2)
        if (std::optional<Choice> choice = decisions.checkpoints(start, windows))
          look(*choice);
    });
}

/// What is best at each of a few prices of memory.
void Finder::seedCuts(const Choice &start, int64_t m) {
  std::vector<double> seconds(problem.commands.size()), bytes;
  for (size_t index = 0; index < seconds.size(); ++index)
    if (flow.isAllowed(static_cast<int>(index)))
      seconds[index] = times.seconds(static_cast<int>(index), start.variants[index], m);
  for (const Buffer &buffer : problem.buffers)
    bytes.push_back(static_cast<double>(buffer.bytes.at(m)));
  for (size_t index = 0; index < seconds.size(); ++index)
    for (const auto &[buffer, size] : problem.commands[index].variants[start.variants[index]].results)
      bytes[buffer] = static_cast<double>(size.at(m));
  CheckpointCut cut(problem, flow, decisions.classes(), seconds, bytes);
  for (const std::vector<char> &again : cut.hull(kHullPoints, effort.deadline))
    look(decisions.with(start, again));
}

/// Changes one decision at a time of what is best so far, then (`single`) of everything known, as long as
/// there is something new to start from.
void Finder::improve(const FrontsAtSize &size, bool single, int64_t until) {
  std::vector<char> expanded;
  auto isSpent = [&] { return static_cast<int64_t>(found.list.size()) >= until || isOver(); };
  auto expand = [&](int index) {
    expanded.resize(found.list.size(), 0);
    if (isSpent() || expanded[index] != 0)
      return false;
    expanded[index] = 1;
    Choice start = found.list[index].choice;
    decisions.forNeighbours(
        start, single, [&](const Choice &choice) { look(choice); }, [&] { return isOver(); });
    return true;
  };
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (const ParetoFront *front : {&size.lowest, &size.emptiest})
      for (const ParetoFront::Member &member : std::vector(front->list()))
        isNew |= expand(member.index);
  }
  for (int index = 0; single && index < static_cast<int>(found.list.size()) && !isSpent(); ++index)
    expand(index);
}

/// Between neighbours of the front, gives the first layers the one and the rest the other: the more of them,
/// the further the neighbours are apart.
void Finder::mix(const FrontsAtSize &size, int64_t count) {
  if (isOver())
    return;
  std::vector<ParetoFront::Member> best = size.lowest.list();
  double seconds = best.back().seconds - best.front().seconds, bytes = best.front().bytes - best.back().bytes;
  for (size_t at = 0; at + 1 < best.size(); ++at) {
    double apart =
        (best[at + 1].seconds - best[at].seconds) / seconds + (best[at].bytes - best[at + 1].bytes) / bytes;
    auto share = static_cast<int64_t>(static_cast<double>(count) * apart / 2);
    Choice less = found.list[best[at].index].choice, more = found.list[best[at + 1].index].choice;
    decisions.forMixtures(less, more, share, [&](const Choice &choice) { look(choice); });
  }
}

/// Changes a few decisions at once, drawn at random, of what is best so far.
void Finder::randomMoves(const FrontsAtSize &size, int64_t until) {
  std::mt19937_64 random(static_cast<uint64_t>(size.end));
  int64_t begin = looked;
  while (static_cast<int64_t>(found.list.size()) < until && looked - std::max(useful, begin) < kStale &&
         !isOver()) {
    const std::vector<ParetoFront::Member> &low = size.lowest.list(), &empty = size.emptiest.list();
    size_t drawn = random() % (low.size() + empty.size());
    int start = drawn < low.size() ? low[drawn].index : empty[drawn - low.size()].index;
    look(decisions.disturbed(Choice(found.list[start].choice), random));
  }
}

/// Walks to lower peaks than any so far; and what is fastest at the lowest, and a little above it.
void Finder::lowerPeak(const FrontsAtSize &size) {
  int64_t looks = std::min(effort.visits * 2 / 3 / count, kMostWalk);
  if (looks < kFewestWalk || isOver() || decisions.classes().empty())
    return;
  const ParetoFront::Member least = size.lowest.list().back();
  Choice start = found.list[least.index].choice;
  for (const Choice &choice :
       annealPeaks(problem, flow, loads, decisions, start, {size.m, looks, effort.deadline}))
    look(choice);
  auto highest = static_cast<int64_t>(least.bytes),
       lowest = static_cast<int64_t>(size.lowest.list().back().bytes);
  for (int64_t level = 0, until = looked + looks / 3; level < kLevels && lowest < highest; ++level)
    speedUp(size, lowest + (highest - lowest) * level / kLevels, until);
}

/// Decisions one by one, of the fastest whose peak is at most `limit`: what makes it faster and no higher
/// stays.
void Finder::speedUp(const FrontsAtSize &size, int64_t limit, int64_t until) {
  auto isFast = [&](const ParetoFront::Member &member) { return member.bytes <= static_cast<double>(limit); };
  ParetoFront::Member best = *std::ranges::find_if(size.lowest.list(), isFast);
  Choice choice = found.list[best.index].choice;
  for (bool single : {false, true})
    decisions.forNeighbours(
        choice, single,
        [&](const Choice &other) {
          look(other);
          ParetoFront::Member now = *std::ranges::find_if(size.lowest.list(), isFast);
          if (now.index != best.index)
            choice = found.list[now.index].choice;
          best = now;
        },
        [&] { return looked >= until || isOver(); });
}

} // namespace

Alternatives findAlternatives(const Problem &problem, const TimeModel &times, int64_t smallest,
                              int64_t largest, bool recompute, const AlternativeEffort &effort) {
  return Finder(problem, times, smallest, largest, recompute, effort).run();
}

} // namespace accum::planner
