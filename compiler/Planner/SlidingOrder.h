// SPDX-License-Identifier: Apache-2.0
// Rectangles that stand on each other in a fixed order, and how far each may slide.
#pragma once
#include "compiler/Planner/Packing.h"
#include "compiler/Planner/TimeRuns.h"
#include <span>
#include <vector>

namespace accum::planner {

/// A packing below a height, without offsets: only which of two that live together is the lower one. That
/// leaves each a lowest and a highest offset, as the longest chains below and above it leave room, like the
/// earliest and latest start of a job on machines whose order is given. What is put in later may push
/// others up as far as they may slide, and down as well: so its gap need not be there yet.
class SlidingOrder {
public:
  /// Of rectangles that are sorted by start. None stands.
  explicit SlidingOrder(std::span<const Rectangle> rectangles);

  /// Those that stand in a packing of all, but for what its order pushes above the height.
  void begin(std::span<const int64_t> offsets, int64_t height);
  /// The same below a larger height.
  void raise(int64_t height);
  int64_t height() const { return limit; }
  bool stands(int index) const { return isThere[static_cast<size_t>(index)] != 0; }
  int64_t lowest(int index) const { return pieces[static_cast<size_t>(index)].low; }
  int64_t highest(int index) const { return pieces[static_cast<size_t>(index)].high; }
  int64_t top(int index) const { return pieces[static_cast<size_t>(index)].top(); }
  /// Those that stand and live together with it, by index.
  void collectNear(int index, std::vector<int> &near) const;
  void remove(int index);
  /// Above those near it whose top is at most the cut, and below the rest, all of which must be able to slide
  /// away from between the cut and its size above that.
  void put(int index, int64_t cut, std::span<const int> near);
  /// What pushing took so far, in rectangles.
  int64_t visited() const { return visits; }

private:
  /// All that is looked at of one, in half a line of a cache.
  struct Piece {
    int start, end;
    int64_t size, low = 0, high = 0;
    int64_t top() const { return low + size; }
  };
  /// Of about one length, by start.
  struct Lives {
    struct Life {
      int start, end, index;
    };
    int longest = 0;
    std::vector<Life> lives;
  };
  /// What the order is sorted by.
  struct Key {
    int64_t top;
    int index;
  };
  void classifyLives(std::span<const Rectangle> rectangles);
  void slideDown();
  void slideUp();
  void settle();
  void sortByTop();
  void pushUp(size_t at);
  void pushDown(size_t at);
  size_t moveUp(size_t at);
  void mergeMoved(size_t from, size_t to);

  std::vector<Piece> pieces;  ///< by start
  std::vector<Lives> classes; ///< of length, all that are not empty
  std::vector<char> isThere;
  std::vector<int> order;         ///< those that stand, by the top at their lowest offset
  std::vector<Key> keys;          ///< while it is sorted
  std::vector<int> ends;          ///< of parts of these
  std::vector<int> moved, merged; ///< while they are pushed
  TimeRuns runs;
  int64_t largest = 1, limit = 0, visits = 0;
  int puts = 0;
};

} // namespace accum::planner
