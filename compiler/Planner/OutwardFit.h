// SPDX-License-Identifier: Apache-2.0
// Packing outward in time: all of the fullest moment first, and from there on what begins, or ended, next.
#pragma once
#include "compiler/Planner/LivingStack.h"
#include "compiler/Planner/Packing.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Packs below a height in order of time, from the fullest moment to the end and from there back to the
/// beginning. At that moment nothing is wasted, and what is free then grows as it does in the packing. What
/// arrives stands beside what departs at about the same time as it does, so that both leave one gap, or
/// takes a gap that it nearly fills. Where none is large enough, what weighs less gives way: to another gap,
/// if one has been free for long enough, or to the end, when the rest is put into what is left, or on top.
class OutwardFit {
public:
  explicit OutwardFit(std::span<const Rectangle> rectangles, Deadline deadline = {});

  /// Of all, with few that end above the height, which is at least the largest load. Noise on choices begins
  /// at the seed, 0: none. The height is INT64_MAX where it takes more visits than `most`, or the deadline
  /// passes.
  Packing pack(int64_t height, uint64_t seed, int64_t most);
  /// Rectangles looked at so far, over all calls: the effort.
  int64_t visited() const { return visits / kGapsPerVisit; }

private:
  /// A gap costs as much less to look at than a rectangle does elsewhere.
  static constexpr int64_t kGapsPerVisit = 8;
  /// Time one way: as it is, or backward.
  struct Direction {
    std::vector<Rectangle> lives;
    int moment = 0;                        ///< the fullest
    std::vector<int> arrivals, departures; ///< of those behind it; and of what lives then
  };
  struct Standing {
    int64_t offset;
    Rectangle life;
  };
  struct Choice {
    int gap = LivingStack::kNone;
    bool isLow = true;
  };
  Direction directionOf(std::vector<Rectangle> lives, int moment) const;
  void stackFullest(int64_t height);
  void sweep(const Direction &direction, int64_t height);
  Choice choose(const LivingStack &stack, const Rectangle &r, int since, float noise);
  void put(LivingStack &stack, int index, const Rectangle &r, Choice choice);
  void makeRoom(LivingStack &stack, const Direction &direction, int index);
  void weighStack(const LivingStack &stack, const Direction &direction);
  double weightOf(int index) const;
  void putRest(int64_t height);
  int64_t freeOffset(const Rectangle &r, int64_t height) const;
  bool isLate();

  std::span<const Rectangle> rectangles;
  Deadline deadline;
  double meanLength = 1, meanSize = 1;
  Direction onward, backward;
  std::vector<int> lower,
      upper; ///< at the fullest moment: what ends soon, from below; what began, from above
  std::vector<float> noises;
  // Of one packing:
  std::vector<int64_t> offsets; ///< per rectangle, -1: it does not stand
  std::vector<int> placeOf;     ///< per rectangle, while it lives
  size_t salt = 0;
  float amplitude = 0;
  int64_t visits = 0, limit = 0, nextLook = 0;
  bool isOver = false;
  // While room is made, from below:
  std::vector<int> stacked;
  std::vector<double> inTheWay;                 ///< weights of these
  std::vector<std::pair<int, int64_t>> oldGaps; ///< since when, and the largest of all that old
  std::vector<Standing> standing;               ///< all that stands, by offset, while the rest is put
};

} // namespace accum::planner
