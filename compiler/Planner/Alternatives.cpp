// SPDX-License-Identifier: Apache-2.0
// All choices where they are few; else cuts per price, improved decision by decision, tiled layer by layer.
#include "compiler/Planner/Alternatives.h"
#include "compiler/Planner/Decisions.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace accum::planner {

namespace {

constexpr size_t kHullPoints = 24;
/// Alternatives that are handed on at most.
constexpr size_t kKept = 1500;

class Finder {
public:
  Finder(const Problem &problem, const TimeModel &times, int64_t smallest, int64_t largest, bool recompute,
         const AlternativeEffort &effort)
      : problem(problem), times(times), effort(effort), sizes{largest, smallest},
        flow(problem), loads(problem, flow, smallest, largest), decisions(problem, flow, recompute) {
    if (smallest == largest)
      sizes.pop_back();
    classifyCosts();
    evaluations = std::clamp<int64_t>(
        effort.visits / static_cast<int64_t>(problem.commands.size() + problem.buffers.size() + 1), 48, 4000);
  }

  Alternatives run() {
    try_(decisions.none());
    if (decisions.combinations(effort.exact) <= effort.exact) {
      decisions.forAll([&](const Choice &choice) { try_(choice); });
    } else {
      seed();
      for (size_t at = 0; at < sizes.size(); ++at)
        improve(at, evaluations * static_cast<int64_t>(at + 1) / static_cast<int64_t>(2 * sizes.size()));
      for (size_t at = 0; at < sizes.size(); ++at)
        mix(at, evaluations / static_cast<int64_t>(2 * sizes.size()));
    }
    keepUseful();
    return std::move(found);
  }

private:
  void classifyCosts();
  void try_(const Choice &choice);
  void seed();
  void improve(size_t size, int64_t until);
  void mix(size_t size, int64_t count);
  void keepUseful();
  /// Indices of what no other has both less time and a lower peak than, at one size; by time.
  std::vector<int> front(int64_t m) const;

  const Problem &problem;
  const TimeModel &times;
  const AlternativeEffort &effort;
  std::vector<int64_t> sizes; ///< at which alternatives are compared
  Recomputation flow;
  LoadModel loads;
  Decisions decisions;
  Alternatives found;
  std::vector<std::vector<int>> costOf; ///< per command and variant
  std::map<std::pair<std::vector<char>, std::vector<int>>, int> known;
  int64_t evaluations = 0;
};

void Finder::classifyCosts() {
  std::map<std::tuple<CommandKind, std::string_view, std::string, std::string>, int> classes;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    std::vector<int> &row = costOf.emplace_back();
    bool matters = command.variants.size() > 1 || flow.isAllowed(static_cast<int>(index));
    for (size_t variant = 0; matters && variant < command.variants.size(); ++variant) {
      const Variant &way = command.variants[variant];
      auto [at, isNew] = classes.emplace(
          std::tuple(command.kind, std::string_view(command.dtype), toText(way.flops), toText(way.bytes)),
          static_cast<int>(found.costClasses.size()));
      if (isNew)
        found.costClasses.emplace_back(static_cast<int>(index), static_cast<int>(variant));
      row.push_back(at->second);
    }
  }
}

/// Looks at a choice, unless it is known already.
void Finder::try_(const Choice &asked) {
  Alternative entry;
  entry.choice = asked;
  Choice &choice = entry.choice;
  std::vector<int> before = flow.positions(choice.recomputed);
  for (size_t index = 0; index < before.size(); ++index)
    choice.recomputed[index] = before[index] == kNoIndex ? 0 : 1;
  if (!known.emplace(std::pair(choice.recomputed, choice.variants), static_cast<int>(found.list.size())).second)
    return;
  std::map<int, int> costs;
  for (size_t index = 0; index < before.size(); ++index) {
    int variant = choice.variants[index];
    if (variant != 0) {
      int repeats = problem.commands[index].region == Region::Micro ? 1 : 0;
      costs[costOf[index][variant]] += repeats;
      costs[costOf[index][0]] -= repeats;
    }
    if (before[index] != kNoIndex) {
      ++costs[costOf[index][variant]];
      ++entry.recomputed;
    }
  }
  for (auto [cost, count] : costs)
    if (count != 0)
      entry.costs.emplace_back(cost, count);
  entry.peak = loads.peak(before, choice.variants);
  found.list.push_back(std::move(entry));
}

void Finder::seed() {
  for (int64_t m : sizes)
    decisions.forVariants([&](const Choice &start) {
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
      for (const std::vector<char> &again : cut.hull(kHullPoints))
        try_(decisions.with(start, again));
      for (int windows = 1; windows <= 16; windows *= 2)
        if (std::optional<Choice> choice = decisions.checkpoints(start, windows))
          try_(*choice);
    });
}

std::vector<int> Finder::front(int64_t m) const {
  std::vector<double> added = found.addedSeconds(times, m);
  std::vector<int> order(found.list.size());
  std::vector<int64_t> peaks;
  for (size_t index = 0; index < order.size(); ++index) {
    order[index] = static_cast<int>(index);
    peaks.push_back(found.list[index].peak.at(m));
  }
  std::ranges::sort(order, {}, [&](int index) { return std::tuple(added[index], peaks[index], index); });
  std::vector<int> best;
  for (int index : order)
    if (best.empty() || peaks[index] < peaks[best.back()])
      best.push_back(index);
  return best;
}

/// Changes one decision at a time of what is best so far, as long as there is something new to start from.
void Finder::improve(size_t size, int64_t until) {
  std::vector<char> expanded;
  auto isSpent = [&] { return static_cast<int64_t>(found.list.size()) >= until; };
  for (bool isNew = true; isNew && !isSpent();) {
    isNew = false;
    for (int index : front(sizes[size])) {
      expanded.resize(found.list.size(), 0);
      if (expanded[index] != 0 || isSpent())
        continue;
      expanded[index] = 1;
      isNew = true;
      Choice start = found.list[index].choice;
      decisions.forNeighbours(start, [&](const Choice &choice) { try_(choice); });
    }
  }
}

/// Between neighbours of the front, gives the first layers the one and the rest the other.
void Finder::mix(size_t size, int64_t count) {
  std::vector<int> best = front(sizes[size]);
  for (size_t at = 0; at + 1 < best.size(); ++at) {
    Choice less = found.list[best[at]].choice, more = found.list[best[at + 1]].choice;
    int64_t share = std::max<int64_t>(2, count / static_cast<int64_t>(best.size()));
    decisions.forMixtures(less, more, share, [&](const Choice &choice) { try_(choice); });
  }
}

/// Drops what is never best, looking at sizes from the smallest to the largest.
void Finder::keepUseful() {
  if (found.list.size() < 64)
    return;
  std::vector<char> useful(found.list.size(), 0);
  useful[0] = 1;
  for (int64_t m = sizes.back(); m <= sizes.front(); m = std::max(m + 1, std::min(m * 2, sizes.front())))
    for (int index : front(m))
      useful[index] = 1;
  std::vector<Alternative> kept;
  for (size_t index = 0; index < found.list.size(); ++index)
    if (useful[index] != 0 && kept.size() < kKept)
      kept.push_back(std::move(found.list[index]));
  found.list = std::move(kept);
}

} // namespace

std::vector<double> Alternatives::addedSeconds(const TimeModel &times, int64_t m) const {
  std::vector<double> each, sums;
  for (auto [command, variant] : costClasses)
    each.push_back(times.seconds(command, variant, m));
  for (const Alternative &alternative : list) {
    double sum = 0;
    for (auto [cost, count] : alternative.costs)
      sum += each[cost] * count;
    sums.push_back(sum);
  }
  return sums;
}

Alternatives findAlternatives(const Problem &problem, const TimeModel &times, int64_t smallest, int64_t largest,
                              bool recompute, const AlternativeEffort &effort) {
  return Finder(problem, times, smallest, largest, recompute, effort).run();
}

} // namespace accum::planner
