// SPDX-License-Identifier: Apache-2.0
// What begins or ends while the load is largest, in two stacks that leave no gap.
#pragma once
#include "compiler/Planner/GreedyWeights.h"
#include <span>
#include <vector>

namespace accum::planner {

/// Of the moments around the one of the largest load. Whatever ends among them stands in the order of ends,
/// the first on top; whatever begins hangs from the height of both in the order of starts, the first on top.
/// So what is free at any of these moments is a single gap between the two, as high as the load is below its
/// largest, and everything else that lives there lives through all of them and leaves none.
struct OpposedStacks {
  /// Which moments: those of loads above `1 - below` of the largest, and what is between them, up to `length`
  /// mean lengths of a rectangle in all. Length 0: none.
  struct Setting {
    double below = 0, length = 0;
    double dip = 0.06; ///< moments further from the next full one than so many mean lengths are left out
  };
  /// Of a stack. What lives among these moments only stands beside a rectangle that does not.
  struct Row {
    int index;      ///< the rectangle that lives before or after these moments as well
    int other = -1; ///< one that does not, beside it; -1: none
    int edge;       ///< the last end of both where they end, the first start where they begin
    int64_t size;   ///< of the larger
  };

  int start = 0, end = 0;             ///< the moments; none where nothing is to be stacked
  std::vector<Row> ending, beginning; ///< from the bottom
  int64_t hanging = 0;                ///< the offset of the lowest row of those that begin
  int64_t height = 0;                 ///< of both together
  std::vector<char> isThere;          ///< per rectangle: it lives at one of these moments
  bool isEmpty() const { return start == end; }
};

/// Empty too where so many begin and end among these moments that no place beside others is left for them.
OpposedStacks opposedStacks(std::span<const Rectangle> rectangles, const GreedyWeights &weights,
                            const OpposedStacks::Setting &setting);

/// How high rectangles may stand that live beside these moments, below rows that are to come yet.
class RowCeilings {
public:
  /// `isBefore`: the rows are those that end, and so are their neighbours' lives before these moments.
  RowCeilings(std::span<const Rectangle> rectangles, std::span<const OpposedStacks::Row> rows, int64_t offset,
              bool isBefore);

  int64_t offset(size_t row) const { return offsets[row]; }
  /// Of the lowest row from `next` on that lives with the rectangle, which is not there at these moments;
  /// INT64_MAX: none.
  int64_t over(const Rectangle &r) const {
    int key = isBefore ? r.end : -r.start;
    size_t row = next;
    while (row < keys.size() && keys[row] >= key)
      row = smaller[row];
    return offsets[row];
  }

  size_t next = 0; ///< the first row that does not stand yet

private:
  bool isBefore;
  std::vector<int> keys;        ///< per row: from where on it lives, or until when, negative
  std::vector<size_t> smaller;  ///< per row: the first above it that reaches further
  std::vector<int64_t> offsets; ///< per row, and INT64_MAX
};

} // namespace accum::planner
