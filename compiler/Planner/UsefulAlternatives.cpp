// SPDX-License-Identifier: Apache-2.0
// What alternatives take, and which are worth a second look, at every micro-batch size.
#include "compiler/Planner/Compared.h"
#include <algorithm>
#include <climits>
#include <iterator>
#include <numeric>
#include <tuple>

namespace accum::planner {

namespace {

/// Alternatives that are handed on at most.
constexpr size_t kKept = 1500;

/// Rank 0 is what no other has both less time and a lower peak than, rank 1 the same of what is left, and so
/// on. Of those only whose moves the host has room for.
void lowerRanks(const Alternatives &found, const TimeModel &times, int64_t m, int64_t hostMemory,
                std::vector<int> &ranks) {
  std::vector<double> added = found.addedSeconds(times, m);
  std::vector<int> order(found.list.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int index) { return found.list[index].itinerary.bytesAt(m) > hostMemory; });
  std::ranges::sort(order, {},
                    [&](int index) { return std::tuple(added[index], found.list[index].peak.at(m), index); });
  std::vector<int64_t> lowest; // per rank so far: ascending
  for (int index : order) {
    int64_t peak = found.list[index].peak.at(m);
    auto at = std::ranges::upper_bound(lowest, peak);
    ranks[index] = std::min(ranks[index], static_cast<int>(at - lowest.begin()));
    if (at == lowest.end())
      lowest.push_back(peak);
    else
      *at = peak;
  }
}

/// Of each alternative, at the size where it is best.
std::vector<int> lowestRanks(const Alternatives &found, const TimeModel &times, int64_t smallest,
                             int64_t largest, int64_t hostMemory) {
  std::vector<int> ranks(found.list.size(), INT_MAX);
  for (int64_t m = smallest; m <= largest; m = std::max(m + 1, std::min(m * 2, largest))) {
    lowerRanks(found, times, m, 0, ranks);
    if (hostMemory > 0)
      lowerRanks(found, times, m, hostMemory, ranks);
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
    sums.push_back(added(alternative, times, each, m));
  return sums;
}

void Alternatives::keepUseful(const TimeModel &times, int64_t smallest, int64_t largest, int64_t hostMemory,
                              size_t enough) {
  if (list.size() <= std::max<size_t>(64, enough))
    return;
  std::vector<int> ranks = lowestRanks(*this, times, smallest, largest, hostMemory);
  ranks[0] = 0;
  std::vector<size_t> counts; // of each rank
  for (int rank : ranks) {
    if (rank == INT_MAX) // more than the host has room for, at any size
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
                             int64_t largest, int64_t hostMemory) {
  size_t known = list.size();
  std::ranges::move(more, std::back_inserter(list));
  std::vector<int> ranks = lowestRanks(*this, times, smallest, largest, hostMemory);
  more.assign(std::make_move_iterator(list.begin() + static_cast<long>(known)),
              std::make_move_iterator(list.end()));
  list.resize(known);
  for (size_t index = 0; index < more.size(); ++index)
    if (ranks[known + index] == 0)
      list.push_back(std::move(more[index]));
}

} // namespace accum::planner
