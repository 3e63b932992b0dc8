// SPDX-License-Identifier: Apache-2.0
// Heuristic: rectangles whose edges match are merged into larger ones before anything is packed.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
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
/// mostly belongs together, so that thousands of rectangles become few; elsewhere merging may cost height.
/// What is ambiguous is merged last. O(n log n) for lists of few that share a moment and a size.
class Merging {
public:
  /// What is merged: what fits in one way only, or also pinwheels and what is ambiguous, until so many
  /// pieces are left, which need not be fewer where exact search takes them.
  struct Extent {
    bool isCertain = false;
    size_t least = 100;
  };
  /// Ends with what is merged by then where too much has been looked at, or the deadline passes.
  explicit Merging(std::span<const Rectangle> rectangles, Deadline deadline = {});
  Merging(std::span<const Rectangle> rectangles, const Extent &extent, Deadline deadline);

  /// What is left; in no particular order, but a function of the input.
  std::vector<Rectangle> pieces() const;
  /// Of the rectangles, where those of the pieces are given.
  std::vector<int64_t> offsets(std::span<const int64_t> ofPieces) const;

private:
  enum class Form : uint8_t { Whole, Beside, Above, Pinwheel };
  /// A rectangle, or what was merged: `parts` are its nodes. Beside: in time. Above: from below.
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
  bool mergeSameLife(int node, bool proof);
  bool mergeBeside(int node, bool ambiguous);
  bool mergePinwheel(int middle);
  bool mergePinwheel(int middle, int left, int bottom);
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

} // namespace accum::planner
