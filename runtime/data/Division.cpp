// SPDX-License-Identifier: Apache-2.0
// The samples of a window by length.
#include "runtime/data/Division.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace accum::runtime {
namespace {

/// The choices of `moveUp`: how many rounds each length has, from all that it needs down to none. What is
/// left goes up. Costs of the same number carried into the same length are computed once.
class Search {
public:
  Search(const std::vector<int64_t> &counts, const std::vector<int64_t> &capacity,
         const std::vector<LengthSpec> &lengths)
      : counts(counts), capacity(capacity), lengths(lengths), known(counts.size()) {}

  std::vector<int64_t> run() {
    std::vector<int64_t> taken;
    int64_t carried = 0;
    for (size_t length = 0; length < counts.size(); ++length) {
      int64_t all = counts[length] + carried;
      taken.push_back(std::min(all, best(length, carried).rounds * capacity[length]));
      carried = all - taken.back();
    }
    return taken;
  }

private:
  /// From a length on.
  struct Choice {
    double seconds = std::numeric_limits<double>::infinity();
    int64_t rounds = 0;
  };

  Choice best(size_t length, int64_t carried) {
    auto found = known[length].find(carried);
    if (found != known[length].end())
      return found->second;
    constexpr int64_t kFewer = 8; // rounds less that are tried, and none at all
    int64_t all = counts[length] + carried, needed = (all + capacity[length] - 1) / capacity[length];
    bool isLast = length + 1 == counts.size();
    Choice least;
    auto consider = [&](int64_t rounds) {
      double seconds = double(rounds) * lengths[length].seconds;
      int64_t left = std::max<int64_t>(all - rounds * capacity[length], 0);
      if (!isLast)
        seconds += best(length + 1, left).seconds;
      if (seconds < least.seconds)
        least = {seconds, rounds};
    };
    consider(needed);
    for (int64_t rounds = needed - 1; !isLast && rounds >= 0 && rounds >= needed - kFewer; --rounds)
      consider(rounds);
    if (!isLast && needed > kFewer)
      consider(0);
    if (least.seconds == std::numeric_limits<double>::infinity())
      least.rounds = needed; // times that are no numbers
    return known[length][carried] = least;
  }

  const std::vector<int64_t> &counts, &capacity;
  const std::vector<LengthSpec> &lengths;
  std::vector<std::map<int64_t, Choice>> known;
};

} // namespace

std::vector<int64_t> moveUp(const std::vector<int64_t> &counts, const std::vector<int64_t> &capacity,
                            const std::vector<LengthSpec> &lengths) {
  return Search(counts, capacity, lengths).run();
}

void Division::take(const Share &share) {
  shares.assign(1, share);
  order.clear();
  microSteps.assign(1, share.steps);
  steps = share.steps;
  samples = share.samples;
}

std::vector<int64_t> Division::countsOf(const std::vector<uint8_t> &needs, size_t lengths) {
  std::vector<int64_t> counts(lengths, 0);
  for (uint8_t need : needs)
    ++counts[need];
  return counts;
}

/// Positions from 0, by length.
static std::vector<int64_t> sortedByNeed(const std::vector<uint8_t> &needs) {
  std::vector<int64_t> sorted(needs.size());
  std::iota(sorted.begin(), sorted.end(), int64_t(0));
  std::ranges::sort(sorted, {},
                    [&](int64_t position) { return std::pair(needs[size_t(position)], position); });
  return sorted;
}

void Division::addShare(Share share, int64_t place) {
  share.end = place + (share.end - share.begin);
  // Where it has none, no row of it is the first of the batch.
  share.begin = share.end > place ? place : samples;
  share.end = std::max(share.begin, share.end);
  share.samples = samples;
  shares.push_back(share);
  microSteps.push_back(share.steps);
  steps += share.steps;
}

Division::Division(const std::vector<uint8_t> &needs, const std::vector<LengthSpec> &lengths, int ranks,
                   int rank, int64_t rows)
    : samples(int64_t(needs.size())) {
  std::vector<int64_t> sorted = sortedByNeed(needs), counts = countsOf(needs, lengths.size()), capacity;
  auto rowsOf = [&](const LengthSpec &length) { return rows > 0 ? std::min(rows, length.m) : length.m; };
  for (const LengthSpec &length : lengths)
    capacity.push_back(rowsOf(length) * ranks);
  counts = moveUp(counts, capacity, lengths);
  // Each rank has a block of every length; a rank's blocks follow each other.
  std::vector<int64_t> starts;
  for (int of = 0; of < ranks; ++of) {
    int64_t before = 0; // of the shorter lengths, in `sorted`
    for (size_t length = 0; length < lengths.size(); ++length) {
      Share local(counts[length], lengths[length].m, ranks, of, rowsOf(lengths[length]));
      auto place = int64_t(order.size());
      order.insert(order.end(), sorted.begin() + before + local.begin, sorted.begin() + before + local.end);
      before += counts[length];
      if (of == rank)
        addShare(local, place);
    }
  }
}

/// All ranks have the rounds of one that has the most samples of each length: what a rank carries up is then
/// never more than such a one's, and fits.
Division::Division(const std::vector<uint8_t> &needs, const std::vector<int64_t> &most,
                   const std::vector<LengthSpec> &lengths, const Share &own)
    : samples(own.samples) {
  std::vector<int64_t> counts = countsOf(needs, lengths.size()), capacity;
  for (const LengthSpec &length : lengths)
    capacity.push_back(length.m);
  std::vector<int64_t> rounds = moveUp(most, capacity, lengths);
  order.assign(size_t(samples), own.begin); // spare rows repeat a sample that is here
  for (int64_t place = own.begin; int64_t position : sortedByNeed(needs))
    order[size_t(place++)] = own.begin + position;
  int64_t place = own.begin, carried = 0;
  for (size_t length = 0; length < lengths.size(); ++length) {
    Share share(rounds[length], lengths[length].m, 1, 0);
    share.end = std::min(counts[length] + carried, int64_t(share.steps) * share.m);
    carried += counts[length] - share.end;
    addShare(share, place);
    place += share.end;
  }
}

} // namespace accum::runtime
