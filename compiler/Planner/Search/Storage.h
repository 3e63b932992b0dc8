// SPDX-License-Identifier: Apache-2.0
// From buffers to the rectangles that a packer places: lifetimes, views and in-place results resolved.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Problem/Problem.h"
#include <vector>

namespace accum::planner {

/// What does not depend on m: the storages (buffers that are not views) and when they live.
class Lifetimes {
public:
  explicit Lifetimes(const Problem &problem);

  struct Interval {
    int start = 0, end = 0; ///< half-open over the command order; empty: never alive
    bool isEmpty() const { return start >= end; }
  };
  /// Per buffer, the buffer whose storage it is; itself where it is no view.
  std::vector<int> root;
  /// Per storage, the union over its views; per view, empty.
  std::vector<Interval> life;
  /// Per storage: it crosses into another phase through a loop, so that no later result may take its place
  /// in one.
  std::vector<char> crossesLoop;

private:
  struct Span;
};

/// The rectangles at one m. Sizes are rounded up to the alignment, so that every sum of them is aligned.
struct Layout {
  std::vector<Rectangle> blocks = {};
  std::vector<int> blockOfBuffer = {};    ///< kNoIndex: no bytes or never alive
  std::vector<int> blockOfWorkspace = {}; ///< per command, likewise
};

/// In-place results are merged with the operand whose place they take, where both have the same size.
Layout layOut(const Problem &problem, const Lifetimes &lifetimes, int64_t m, int64_t alignment);

} // namespace accum::planner
