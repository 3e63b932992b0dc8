// SPDX-License-Identifier: Apache-2.0
// Packing under a height by putting rectangles where the least is in their way, and moving that elsewhere.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Improves a packing one rectangle at a time. Whatever stands above the height is taken out and waits; each
/// that waits goes into the tightest gap that holds it, or else to the place where the least weight stands in
/// its way, which then waits in turn and weighs more from now on, so that the search does not go round in
/// circles. Proves nothing, but needs no more than a look at what lives at the same time for a move, so that
/// it works where exact search is out of reach.
class EvictionSearch {
public:
  /// Starts from offsets of a packing of any height. `restrictions` is empty, or one per rectangle.
  EvictionSearch(std::span<const Rectangle> rectangles, std::vector<int64_t> offsets,
                 std::span<const Restriction> restrictions = {}, Deadline deadline = {});

  /// Whether all stand below the height, with at most so many more rectangles looked at. Goes on from where
  /// the call before ended.
  bool run(int64_t height, int64_t visits);

  int64_t visited() const { return visits; }
  const std::vector<int64_t> &offsets() const { return places; } ///< a packing after `run` returned true

private:
  /// A rectangle that stands, as its block knows it.
  struct Standing {
    int64_t offset, top;
    int start, end, rectangle;
  };
  void makeBlocks();
  int blockOf(int time) const { return static_cast<int>(static_cast<int64_t>(time) * blockCount / horizon); }
  void insert(int index, int64_t offset);
  void remove(int index);
  void collect(const Rectangle &r);
  int64_t gapFor(int index, int64_t height) const;
  int64_t leastInTheWay(int index, int64_t height);
  int64_t alignmentOf(int index) const { return restrictions.empty() ? 1 : restrictions[index].alignment; }
  bool isFixed(int index) const { return !restrictions.empty() && restrictions[index].offset >= 0; }
  bool isFree(int64_t offset, int64_t end) const;
  void evictAndInsert(int index, int64_t offset);
  void wait(int index);
  int next();

  std::span<const Rectangle> rectangles;
  std::span<const Restriction> restrictions;
  Deadline deadline;
  std::vector<int64_t> places;        ///< per rectangle, -1: it waits
  std::vector<double> first, weights; ///< per rectangle: at the start, and now
  int horizon = 1, blockCount = 1;
  std::vector<std::vector<Standing>> blocks;    ///< per block of time, what stands in it by offset
  std::vector<Standing> near;                   ///< what lives together with the rectangle at hand, by offset
  std::vector<Standing> fixed;                  ///< of those, what cannot move
  std::vector<std::pair<int64_t, double>> tops; ///< of those, ascending, with their weights
  std::vector<std::pair<double, int>> waiting;  ///< a heap: the heaviest first
  int64_t visits = 0;
};

} // namespace accum::planner
