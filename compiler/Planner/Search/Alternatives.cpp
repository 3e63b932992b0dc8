// SPDX-License-Identifier: Apache-2.0
// What alternatives take, and which are worth a second look, at every micro-batch size.
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/ParetoFront.h"
#include <algorithm>
#include <climits>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>

namespace accum::planner {

namespace {

/// Alternatives that are handed on at most.
constexpr size_t kKept = 1500;

/// An alternative at one size.
struct Judged {
  int64_t peak = 0;
  double seconds = 0;
  int index = 0;
};

/// All alternatives at one size.
class Ranking {
public:
  Ranking(const Alternatives &found, const TimeModel &times, int64_t m) {
    std::vector<RegionTime> classTimes = found.classTimes(times, m);
    for (size_t index = 0; index < found.list.size(); ++index) {
      const Alternative &each = found.list[index];
      all.push_back({each.peak.at(m), added(each, classTimes), static_cast<int>(index)});
    }
    std::ranges::sort(all, {},
                      [](const Judged &each) { return std::tuple(each.peak, each.seconds, each.index); });
  }

  /// Rank 0 is what no other has both less time and a lower peak than, rank 1 the same of what is left, and
  /// so on.
  void lowerRanks(std::vector<int> &ranks) const {
    std::vector<Judged> order = all;
    std::ranges::sort(order, {},
                      [](const Judged &each) { return std::tuple(each.seconds, each.peak, each.index); });
    std::vector<int64_t> lowest; // per rank so far: ascending
    for (const Judged &each : order) {
      auto at = std::ranges::upper_bound(lowest, each.peak);
      ranks[each.index] = std::min(ranks[each.index], static_cast<int>(at - lowest.begin()));
      if (at == lowest.end())
        lowest.push_back(each.peak);
      else
        *at = each.peak;
    }
  }

  /// The same for rank 0 alone: the fastest of each peak that is faster than all of lower peaks.
  void findBest(std::vector<int> &ranks) const {
    double fastest = std::numeric_limits<double>::infinity();
    int64_t peak = -1;
    for (const Judged &each : all) {
      if (each.peak != peak && each.seconds < fastest) {
        ranks[each.index] = 0;
        fastest = each.seconds;
      }
      peak = each.peak;
    }
  }

private:
  std::vector<Judged> all;
};

/// Of each alternative, at the size where it is best. `onlyBest`: anything above 0 is INT_MAX.
std::vector<int> lowestRanks(const Alternatives &found, const TimeModel &times, int64_t smallest,
                             int64_t largest, bool onlyBest) {
  std::vector<int> ranks(found.list.size(), INT_MAX);
  for (int64_t m = smallest; m <= largest; m = std::max(m + 1, std::min(m * 2, largest))) {
    Ranking ranking(found, times, m);
    if (onlyBest)
      ranking.findBest(ranks);
    else
      ranking.lowerRanks(ranks);
  }
  return ranks;
}

} // namespace

std::vector<RegionTime> Alternatives::classTimes(const TimeModel &times, int64_t m) const {
  std::vector<RegionTime> each;
  for (auto [command, variant] : costClasses)
    each.push_back(times.alone(command, variant, m));
  return each;
}

std::vector<double> Alternatives::addedSeconds(const TimeModel &times, int64_t m) const {
  std::vector<RegionTime> each = classTimes(times, m);
  std::vector<double> sums;
  for (const Alternative &alternative : list)
    sums.push_back(added(alternative, each));
  return sums;
}

void Alternatives::keepUseful(const TimeModel &times, int64_t smallest, int64_t largest, size_t enough) {
  if (list.size() <= std::max<size_t>(64, enough))
    return;
  std::vector<int> ranks = lowestRanks(*this, times, smallest, largest, enough == 0);
  ranks[0] = 0;
  std::vector<size_t> counts; // of each rank
  for (int rank : ranks) {
    if (rank == INT_MAX) // not among the best, where only those are asked for
      continue;
    counts.resize(std::max<size_t>(counts.size(), static_cast<size_t>(rank) + 1));
    ++counts[rank];
  }
  int worst = 0;
  for (size_t taken = counts[0]; taken < enough && worst + 1 < static_cast<int>(counts.size()); ++worst)
    taken += counts[worst + 1];
  std::vector<Alternative> kept;
  for (size_t index = 0; index < list.size(); ++index)
    if (ranks[index] <= worst && (enough > 0 || kept.size() < kKept))
      kept.push_back(std::move(list[index]));
  list = std::move(kept);
}

void Alternatives::addUseful(std::vector<Alternative> more, const TimeModel &times, int64_t smallest,
                             int64_t largest) {
  size_t known = list.size();
  std::ranges::move(more, std::back_inserter(list));
  std::vector<int> ranks = lowestRanks(*this, times, smallest, largest, /*onlyBest=*/true);
  more.assign(std::make_move_iterator(list.begin() + static_cast<long>(known)),
              std::make_move_iterator(list.end()));
  list.resize(known);
  for (size_t index = 0; index < more.size(); ++index)
    if (ranks[known + index] == 0)
      list.push_back(std::move(more[index]));
}

void Alternatives::join(const Alternatives &other, const TimeModel &times, int64_t smallest,
                        int64_t largest) {
  auto known = static_cast<int>(costClasses.size());
  costClasses.insert(costClasses.end(), other.costClasses.begin(), other.costClasses.end());
  std::vector<Alternative> more = other.list;
  for (Alternative &each : more)
    for (auto &[cost, count] : each.costs)
      cost += known;
  addUseful(std::move(more), times, smallest, largest);
}

std::shared_ptr<const Alternatives> AlternativeCache::find(const Problem &problem, const TimeModel &times,
                                                           int64_t devices, int64_t smallest, int64_t largest,
                                                           bool recompute, const AlternativeEffort &effort) {
  for (const Entry &entry : entries)
    if (entry.devices == devices && entry.smallest == smallest && entry.largest == largest &&
        entry.recompute == recompute)
      return entry.found;
  auto found = std::make_shared<const Alternatives>(
      findAlternatives(problem, times, smallest, largest, recompute, effort));
  if (!effort.deadline.hasPassed())
    entries.push_back({devices, smallest, largest, recompute, found});
  return found;
}

namespace {

/// Everything that the time of a command's variant follows from.
std::string timedAs(const Command &command, const Variant &way) {
  std::string text = fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(command.kind), command.dtype,
                                 toText(way.flops), toText(way.bytes), toText(command.carried), way.slice,
                                 way.pieces, way.call.name.empty() ? std::string() : toText(way.call));
  for (const OperationCount &count : way.work)
    text += " " + toText(count);
  return text;
}

} // namespace

CostClasses classifyCosts(const Problem &problem, const std::function<bool(int)> &matters) {
  CostClasses result;
  std::unordered_map<std::string, int> classes;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    std::vector<int> &row = result.of.emplace_back();
    if (command.variants.size() <= 1 && !matters(static_cast<int>(index)))
      continue;
    auto add = [&](const Variant &way) {
      auto [at, isNew] = classes.emplace(timedAs(command, way), static_cast<int>(result.stands.size()));
      if (isNew)
        result.stands.emplace_back(static_cast<int>(index), static_cast<int>(row.size()));
      row.push_back(at->second);
    };
    for (const Variant &way : command.variants)
      add(way);
  }
  return result;
}

} // namespace accum::planner
