// SPDX-License-Identifier: Apache-2.0
// All choices where they are few; else cuts per price, improved decision by decision, tiled layer by layer.
#include "compiler/Planner/Alternatives.h"
#include "compiler/Planner/Decisions.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace accum::planner {

namespace {

constexpr size_t kHullPoints = 24;
constexpr int kMixRounds = 3;
/// Commands and buffers beyond which prices are not asked for: a cut may take a pass over the network for
/// each command of a chain.
constexpr int64_t kMostCut = 200'000;
/// Of the effort's visits, what may be spent before everything ends: a start's neighbours are all looked at,
/// however many they are.
constexpr int64_t kOvershoot = 64;
/// Alternatives that are handed on at most.
constexpr size_t kKept = 1500;

class Finder {
public:
  Finder(const Problem &problem, const TimeModel &times, int64_t smallest, int64_t largest, bool recompute,
         const AlternativeEffort &effort)
      : problem(problem), times(times), effort(effort), sizes{largest, smallest}, flow(problem),
        loads(problem, flow, smallest, largest), decisions(problem, flow, recompute) {
    if (smallest == largest)
      sizes.pop_back();
    classifyCosts();
    count = static_cast<int64_t>(problem.commands.size() + problem.buffers.size() + 1);
    evaluations = std::clamp<int64_t>(effort.visits / count, 48, 4000);
  }

  Alternatives run() {
    look(decisions.none());
    if (decisions.combinations(effort.exact) <= effort.exact) {
      // None is dropped: peaks are bounds, and what packs worse than its bound says hides no other.
      decisions.forAll([&](const Choice &choice) { look(choice); });
    } else {
      seed();
      // A third for classes, a third for mixtures, the rest for single commands.
      auto share = [&](int64_t part, int64_t of) { return evaluations * part / of; };
      auto each = static_cast<int64_t>(sizes.size());
      for (int64_t at = 0; at < each; ++at)
        improve(at, false, share(at + 1, 3 * each));
      for (int round = 0; round < kMixRounds; ++round)
        for (int64_t at = 0; at < each; ++at)
          mix(at, share(1, int64_t{3} * kMixRounds * each));
      auto known = static_cast<int64_t>(found.list.size());
      for (int64_t at = 0; at < each; ++at)
        improve(at, true, known + share(at + 1, 3 * each));
      keepUseful();
    }
    return std::move(found);
  }

private:
  bool isOver() const { return effort.deadline.hasPassed() || looked > kOvershoot * effort.visits / count; }
  void classifyCosts();
  void look(const Choice &choice);
  void seed();
  void seedCuts(const Choice &start, int64_t m);
  void improve(int64_t size, bool single, int64_t until);
  void mix(int64_t size, int64_t count);
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
  int64_t count = 0; ///< of commands and buffers
  int64_t evaluations = 0, looked = 0;
};

/// Everything that the time of a command's variant follows from.
std::string timedAs(const Command &command, const Variant &way) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(command.kind), command.dtype,
                                 toText(way.flops), toText(way.bytes), toText(command.carried), way.slice,
                                 way.pieces, way.call.name.empty() ? std::string() : toText(way.call));
  for (const OperationCount &count : way.work)
    text += " " + toText(count);
  return text;
}

void Finder::classifyCosts() {
  std::unordered_map<std::string, int> classes;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    std::vector<int> &row = costOf.emplace_back();
    bool matters = command.variants.size() > 1 || flow.isAllowed(static_cast<int>(index));
    for (size_t variant = 0; matters && variant < command.variants.size(); ++variant) {
      auto [at, isNew] = classes.emplace(timedAs(command, command.variants[variant]),
                                         static_cast<int>(found.costClasses.size()));
      if (isNew)
        found.costClasses.emplace_back(static_cast<int>(index), static_cast<int>(variant));
      row.push_back(at->second);
    }
  }
}

/// Looks at a choice, unless it is known already.
void Finder::look(const Choice &asked) {
  if (!found.list.empty() && isOver())
    return;
  ++looked;
  Alternative entry;
  entry.choice = asked;
  Choice &choice = entry.choice;
  std::vector<int> before = flow.positions(choice.recomputed);
  for (size_t index = 0; index < before.size(); ++index)
    choice.recomputed[index] = before[index] == kNoIndex ? 0 : 1;
  if (!known.emplace(std::pair(choice.recomputed, choice.variants), static_cast<int>(found.list.size()))
           .second)
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
      if (isOver())
        return;
      if (count <= kMostCut)
        seedCuts(start, m);
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

/// Changes one decision at a time of what is best so far, then (`single`) of everything known, as long as
/// there is something new to start from.
void Finder::improve(int64_t size, bool single, int64_t until) {
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
    for (int index : front(sizes[size]))
      isNew |= expand(index);
  }
  for (int index = 0; single && index < static_cast<int>(found.list.size()) && !isSpent(); ++index)
    expand(index);
}

/// Between neighbours of the front, gives the first layers the one and the rest the other: the more of them,
/// the further the neighbours are apart.
void Finder::mix(int64_t size, int64_t count) {
  int64_t m = sizes[size];
  if (isOver())
    return;
  std::vector<int> best = front(m);
  std::vector<double> added = found.addedSeconds(times, m);
  auto peak = [&](int index) { return static_cast<double>(found.list[index].peak.at(m)); };
  double seconds = added[best.back()] - added[best.front()], bytes = peak(best.front()) - peak(best.back());
  for (size_t at = 0; at + 1 < best.size(); ++at) {
    double apart =
        (added[best[at + 1]] - added[best[at]]) / seconds + (peak(best[at]) - peak(best[at + 1])) / bytes;
    auto share = static_cast<int64_t>(static_cast<double>(count) * apart / 2);
    Choice less = found.list[best[at]].choice, more = found.list[best[at + 1]].choice;
    decisions.forMixtures(less, more, share, [&](const Choice &choice) { look(choice); });
  }
}

/// Drops what is never best, looking at sizes from the smallest to the largest.
void Finder::keepUseful() {
  if (found.list.size() < 64 || effort.deadline.hasPassed())
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

Alternatives findAlternatives(const Problem &problem, const TimeModel &times, int64_t smallest,
                              int64_t largest, bool recompute, const AlternativeEffort &effort) {
  return Finder(problem, times, smallest, largest, recompute, effort).run();
}

} // namespace accum::planner
