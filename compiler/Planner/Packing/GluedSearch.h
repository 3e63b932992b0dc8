// SPDX-License-Identifier: Apache-2.0
// Exact search of what is left of few rectangles where those that fit each other are glued first.
#pragma once
#include "compiler/Planner/Packing/Gluing.h"
#include "compiler/Planner/Packing/ValleySearch.h"

namespace accum::planner {

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
