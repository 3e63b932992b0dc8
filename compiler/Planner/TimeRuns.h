// SPDX-License-Identifier: Apache-2.0
// A value for each moment, as runs of equal ones.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Values over [0, horizon). A run is known by its start, and starts are bits in words, with a bit for each
/// word that is not 0: the runs of a stretch are found without a tree or a list to keep in order.
class TimeRuns {
public:
  /// Of what has no value.
  static constexpr int64_t kNone = -1;

  explicit TimeRuns(int horizon);

  /// One run of everything.
  void reset(int64_t value);
  /// Runs that have a value.
  int valued() const { return count; }
  /// `fold(so far, value)` over the runs that touch [start, end), from `first` on.
  template <class Fold> int64_t folded(int start, int end, int64_t first, Fold fold) const {
    for (int run = runAt(start); run < end; run = next(run))
      first = fold(first, values[static_cast<size_t>(run)]);
    return first;
  }
  /// Over [start, end), which becomes one run.
  void assign(int start, int end, int64_t value);
  /// The same with `value(fold(...))` of what was there; `valued` is no longer true then.
  template <class Fold, class Value> void replace(int start, int end, int64_t first, Fold fold, Value value);

private:
  static constexpr int kBits = 64;
  static constexpr uint64_t kAll = ~uint64_t{0};
  static size_t wordOf(int bit) { return static_cast<size_t>(bit / kBits); }
  static uint64_t bitOf(int bit) { return uint64_t{1} << (bit % kBits); }
  static uint64_t upTo(int bit) { return kAll >> (kBits - 1 - bit % kBits); }
  static uint64_t from(int bit) { return kAll << (bit % kBits); }
  static int lastOf(size_t word, uint64_t bits) {
    return static_cast<int>(word) * kBits + kBits - 1 - std::countl_zero(bits);
  }
  static int firstOf(size_t word, uint64_t bits) {
    return static_cast<int>(word) * kBits + std::countr_zero(bits);
  }
  /// The start of the run that a moment is in.
  int runAt(int time) const {
    size_t word = wordOf(time);
    uint64_t bits = starts[word] & upTo(time);
    return bits != 0 ? lastOf(word, bits) : lastBefore(static_cast<int>(word));
  }
  int next(int run) const {
    size_t word = wordOf(run + 1);
    uint64_t bits = word < starts.size() ? starts[word] & from(run + 1) : 0;
    return bits != 0 ? firstOf(word, bits) : firstBehind(static_cast<int>(word));
  }
  int lastBefore(int word) const;
  int firstBehind(int word) const;
  void add(int run) {
    starts[wordOf(run)] |= bitOf(run);
    words[wordOf(run) / kBits] |= bitOf(static_cast<int>(wordOf(run)));
  }
  void remove(int run) {
    size_t word = wordOf(run);
    starts[word] &= ~bitOf(run);
    if (starts[word] == 0)
      words[word / kBits] &= ~bitOf(static_cast<int>(word));
  }

  int horizon, count = 0;
  std::vector<uint64_t> starts, words; ///< bits per moment, and per word of these
  std::vector<int64_t> values;         ///< where a run starts
};

template <class Fold, class Value>
void TimeRuns::replace(int start, int end, int64_t first, Fold fold, Value value) {
  int run = runAt(start);
  int64_t last = values[static_cast<size_t>(run)];
  first = fold(first, last);
  int behind = next(run);
  while (behind < end) {
    last = values[static_cast<size_t>(behind)];
    first = fold(first, last);
    int further = next(behind);
    remove(behind);
    behind = further;
  }
  if (behind > end) {
    add(end);
    values[static_cast<size_t>(end)] = last;
  }
  if (run < start)
    add(start);
  values[static_cast<size_t>(start)] = value(first);
}

} // namespace accum::planner
