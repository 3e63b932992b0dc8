// SPDX-License-Identifier: Apache-2.0
// Exact packing into a fixed height: depth-first, bottom-up, over the valleys of the skyline.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace accum::planner {

/// splitmix64's finaliser: numbers that look random, for fingerprints and ties.
inline uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// Looks for offsets under a height, or proves that there are none.
///
/// The skyline has a floor per section of time. In a valley (a run of equal floors between higher ones)
/// whatever comes next either lies inside the valley, on its floor, or crosses a wall and lies no lower than
/// that wall. So for any one section of any one valley the choices are complete: a rectangle inside the
/// valley over that section goes onto the floor, or the floor there is given up as waste up to the lowest
/// height at which anything could stand. The search branches on the section with the fewest choices for the
/// trouble that it made so far, cuts where floor plus what is still to come exceeds the height, or wall plus
/// what crosses it, and solves stretches that no rectangle joins one by one.
///
/// A failure names the stretch of time that explains it: with those floors and those rectangles still to come
/// over it, nothing fits, whatever is done elsewhere. So choices that do not touch the stretch are not
/// varied, and a stretch that failed is remembered by its floors and rectangles. What a restart throws away
/// is mostly good, as what failed is a short stretch of a long time: pieces tend to where they stood at best.
class ValleySearch {
public:
  ValleySearch(std::span<const Rectangle> rectangles, int64_t height, uint64_t seed = 0,
               Deadline deadline = {});

  enum class Outcome { Found, Impossible, GaveUp };
  /// Restarts with other orders of the choices until so many more nodes are spent; the next call goes on with
  /// the restarts. A function of its input as long as the deadline does not pass.
  Outcome run(int64_t nodes);

  int64_t visited() const { return nodes; }

  std::vector<int64_t> offsets; ///< per rectangle, after Found

private:
  enum class Result { Solved, Failed, Limit };
  struct Piece {
    int start, end; ///< in sections
    int64_t size;
    int rectangle;
    uint64_t print = 0; ///< what it adds to a fingerprint while it is unplaced
  };
  struct Link {
    int before, behind;
  };
  /// Sections [start, end).
  struct Span {
    int start = 0, end = 0;
    bool operator==(const Span &) const = default;
    bool meets(int from, int to) const { return start < to && from < end; }
    Span with(const Span &other) const { return {std::min(start, other.start), std::max(end, other.end)}; }
  };
  struct Valley {
    int start, end;
    int64_t floor, wall; ///< the lower of the walls beside it
    Span around;         ///< with its walls
  };
  /// Of the pieces inside a valley; per section in `choices` and `inside`.
  struct Count {
    int end = 0, inside = 0; ///< of the valley; how many
    int64_t smallest = 0;    ///< size
    int64_t number = 0;
  };
  struct Step {
    int start, end;
    int64_t floor; ///< before
    int piece;     ///< placed, or -1: waste
  };
  struct Choice {
    int section = -1, valley = -1;
    double cost = 0;
    int64_t slack = 0;
  };

  void makeSections(std::span<const Rectangle> rectangles);
  Result solve(int start, int end);
  Result branch(int start, int end);
  Result descend(int start, int end);
  bool isKnown(const Valley &valley);
  void growTable();
  void remember(const Valley &valley);
  void blameRaises(size_t mark, const Span &part);
  void keepDeepest();
  Result tryChoices(int start, int end, const Valley &valley, int section);
  int findSplit(int start, int end) const;
  void findValleys(int start, int end);
  bool isCounted(const Valley &valley) const;
  void countInside(const Valley &valley);
  void makeLists(int sections);
  void link(int index);
  void unlink(int index);
  void setFloor(int section, int64_t to);
  bool settle(int start, int end);
  bool pick(Choice &best);
  bool raise(int start, int end, int64_t to);
  void place(int piece);
  void undo(size_t mark);
  uint64_t fingerprint(int start, int end) const;
  double preference(const Piece &piece, const Valley &valley) const;

  int64_t height;
  uint64_t seed;
  Deadline deadline;
  std::vector<Piece> pieces;    ///< by start
  std::vector<Link> links;      ///< unplaced pieces in rings by start; behind the pieces, a head per section
  std::vector<uint64_t> prints; ///< per section: of its floor and the unplaced pieces that start there
  std::vector<int64_t> floor, left; ///< per section: the skyline, and the sizes still to come
  std::vector<int> crossing;        ///< per section: pieces still to come that join it with the one before
  std::vector<Step> trail;
  std::vector<uint64_t> factors;     ///< per section: of its floor's print
  std::vector<uint64_t> crossPrints; ///< per section: of the unplaced pieces that join it with the one before
  std::vector<Valley> valleys;       ///< of the node being scanned
  std::vector<Count> counts;         ///< by the first section of a valley
  std::vector<int64_t> counted;      ///< per section: the number of its count, 0: changed since
  std::vector<int> choices;          ///< per section: pieces inside its valley over it
  std::vector<int64_t> inside;       ///< per section: their sizes
  int64_t counter = 0;
  std::vector<double> trouble;  ///< per section: how often it left no choice
  std::vector<int64_t> kept;    ///< per piece: where it stood in the deepest attempt of late, or -1
  double deepest = 0;           ///< steps of that attempt, a tenth less after each restart
  std::vector<uint64_t> failed; ///< prints, by their remainder
  size_t remembered = 0;
  std::vector<std::array<Span, 4>> spans; ///< by the first section of a valley: of its latest failures
  Span conflict = {}; ///< what stands and is to come there explains the last failure by itself
  int64_t nodes = 0, limit = 0;
  size_t depth = 0; ///< choices below each other
  int round = 0;
  double quota; ///< nodes of the next restart
};

} // namespace accum::planner
