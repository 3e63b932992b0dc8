// SPDX-License-Identifier: Apache-2.0
// Rectangles that fit each other from edge to edge, glued to larger ones; exact search of what is left.
#pragma once
#include "compiler/Planner/Packing/ValleySearch.h"
#include <array>
#include <unordered_map>

namespace accum::planner {

/// Undoes cuts. Two rectangles make one where they have one life, or one size and one ends when the other
/// begins; five where they are the sides and the middle of a pinwheel:
///
///     +-----+--------+
///     | left|  top   |
///     |     +---+----+
///     |     |mid|    |
///     +-----+---+rig.|
///     | bottom  |ht  |
///     +---------+----+
///
/// A packing of what is left is one of the rectangles. Where a memory leaves no room, what fits exactly
/// mostly belongs together, so that thousands of rectangles become few; elsewhere gluing may cost height.
/// What is ambiguous is glued last. O(n log n) for lists of few that share a moment and a size.
class Gluing {
public:
  /// What is glued: what fits in one way only, or also pinwheels and what is ambiguous, until so many
  /// pieces are left, which need not be fewer where exact search takes them.
  struct Extent {
    bool isCertain = false;
    size_t least = 100;
  };
  /// Ends with what is glued by then where too much has been looked at, or the deadline passes.
  explicit Gluing(std::span<const Rectangle> rectangles, Deadline deadline = {});
  Gluing(std::span<const Rectangle> rectangles, const Extent &extent, Deadline deadline);

  /// What is left; in no particular order, but a function of the input.
  std::vector<Rectangle> pieces() const;
  /// Of the rectangles, where those of the pieces are given.
  std::vector<int64_t> offsets(std::span<const int64_t> ofPieces) const;

private:
  enum class Form : uint8_t { Whole, Beside, Above, Pinwheel };
  /// A rectangle, or what was glued: `parts` are its nodes. Beside: in time. Above: from below.
  struct Node {
    Rectangle rectangle;
    Form form = Form::Whole;
    std::array<int, 5> parts = {}; ///< of a pinwheel: bottom, left, middle, top, right
    bool isFree = true;            ///< no part of another
  };
  using Table = std::unordered_map<uint64_t, std::vector<int>>;

  static uint64_t keyOf(int64_t moment, int64_t other) {
    return static_cast<uint64_t>(moment) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(other);
  }
  void add(const Rectangle &rectangle, Form form, std::array<int, 5> parts);
  std::vector<int> &freeOf(Table &table, uint64_t key);
  void wake(const Rectangle &changed);
  bool glueSameLife(int node, bool proof);
  bool glueBeside(int node, bool ambiguous);
  bool gluePinwheel(int middle);
  bool gluePinwheel(int middle, int left, int bottom);
  bool isOver() const;
  void exhaust();
  void run();

  Extent extent;
  Deadline deadline;
  std::vector<Node> nodes;
  Table byLife, byStart, byEnd;     ///< (start, end), (start, size), (end, size)
  Table startingAt, endingAt;       ///< moments alone
  std::vector<int> none;            ///< for too many
  size_t freeCount = 0, looked = 0; ///< looked: entries of lists, the cost
  std::vector<int> open;            ///< to be looked at, the latest first
};

/// A memory that was kept full leaves pairs that fit from edge to edge. Where room was left as well, exact
/// search has to choose between filling and wasting at each moment, and pieces that are half as many, without
/// the smallest, are worth more than any bound. Proves nothing, as what is glued may not belong together.
class GluedSearch {
public:
  GluedSearch(std::span<const Rectangle> rectangles, const Gluing::Extent &extent, int64_t height,
              uint64_t seed, Deadline deadline = {})
      : gluing(rectangles, extent, deadline), left(gluing.pieces()), search(left, height, seed, deadline) {}

  /// Rectangles that are left: searching among nearly all is no other search.
  size_t pieces() const { return left.size(); }
  /// Goes on from where the call before ended.
  ValleySearch::Outcome run(int64_t nodes) { return search.run(nodes); }
  /// Per rectangle, after Found.
  std::vector<int64_t> offsets() const { return gluing.offsets(search.offsets); }

private:
  Gluing gluing;
  std::vector<Rectangle> left;
  ValleySearch search;
};

} // namespace accum::planner
