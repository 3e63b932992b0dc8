// SPDX-License-Identifier: Apache-2.0
// What lives at one moment, from the floor to a height, and the gaps between.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Places in a list from below to above, and the gaps between them, as time goes on: each arrival takes a
/// part of a gap, and what departs joins the gaps beside it.
class LivingStack {
public:
  struct Place {
    int64_t offset, size;
    int end;          ///< when it departs
    int below, above; ///< places
    int gap;          ///< right above it; kNone: none
    int rectangle;    ///< kNone: the floor, or what is above all
    int64_t top() const { return offset + size; }
  };
  struct Gap {
    int64_t low, high;
    int below, above;         ///< places
    float endBelow, endAbove; ///< when they depart
    int since;                ///< nothing was anywhere in it from then on
    int64_t size() const { return high - low; }
  };
  static constexpr int kNone = -1, kFloor = 0, kCeiling = 1;
  /// When floor and ceiling depart.
  static constexpr int kNever = 1 << 29;

  explicit LivingStack(int64_t height);

  /// Above a place and all gaps: only before the gaps are made. Returns its place.
  int add(int rectangle, int64_t offset, int64_t size, int end, int below);
  /// What is free between those that were added, since a moment.
  void makeGaps(int since);
  /// Puts a rectangle into a gap, at its lower or upper end. Returns its place.
  int arrive(int rectangle, int64_t size, int end, int gap, bool isLow);
  void depart(int place, int when);

  const std::vector<Gap> &gaps() const { return free; }
  const Place &at(int place) const { return places[static_cast<size_t>(place)]; }

private:
  Place &placeAt(int place) { return places[static_cast<size_t>(place)]; }
  int addGap(const Gap &gap);
  void removeGap(int gap);

  std::vector<Place> places;
  std::vector<int> unused;
  std::vector<Gap> free;
};

} // namespace accum::planner
