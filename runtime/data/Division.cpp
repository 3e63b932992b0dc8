// SPDX-License-Identifier: Apache-2.0
// The samples of a window by length.
#include "runtime/data/Division.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace accum::runtime {
namespace {

/// Choices of `moveUp`, tried one after the other: lengths are few.
class Search {
public:
  Search(const std::vector<int64_t> &counts, const std::vector<int64_t> &capacity,
         const std::vector<LengthSpec> &lengths)
      : counts(counts), capacity(capacity), lengths(lengths), chosen(counts.size()), best(counts) {}

  std::vector<int64_t> run() {
    tryFrom(0, 0, 0);
    return best;
  }

private:
  void tryFrom(size_t length, int64_t carried, double seconds) {
    if (seconds >= least)
      return;
    if (length == counts.size()) {
      least = seconds;
      best = chosen;
      return;
    }
    int64_t all = counts[length] + carried, rest = all % capacity[length];
    auto take = [&](int64_t samples) {
      chosen[length] = samples;
      int64_t rounds = (samples + capacity[length] - 1) / capacity[length];
      tryFrom(length + 1, all - samples, seconds + double(rounds) * lengths[length].seconds);
    };
    take(all);
    if (rest > 0 && length + 1 < counts.size())
      take(all - rest);
  }

  const std::vector<int64_t> &counts, &capacity;
  const std::vector<LengthSpec> &lengths;
  std::vector<int64_t> chosen, best;
  double least = std::numeric_limits<double>::infinity();
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

Division::Division(const std::vector<uint8_t> &needs, const std::vector<LengthSpec> &lengths, int ranks,
                   int rank, int64_t rows)
    : samples(int64_t(needs.size())) {
  std::vector<int64_t> sorted(needs.size()), counts(lengths.size()), capacity;
  std::iota(sorted.begin(), sorted.end(), int64_t(0));
  std::ranges::sort(sorted, {},
                    [&](int64_t position) { return std::pair(needs[size_t(position)], position); });
  for (uint8_t need : needs)
    ++counts[need];
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
      if (of != rank)
        continue;
      local.end = place + (local.end - local.begin);
      // Where it has none, no row of it is the first of the batch.
      local.begin = local.end > place ? place : samples;
      local.end = std::max(local.begin, local.end);
      local.samples = samples;
      shares.push_back(local);
    }
  }
  for (const Share &share : shares) {
    microSteps.push_back(share.steps);
    steps += share.steps;
  }
}

} // namespace accum::runtime
