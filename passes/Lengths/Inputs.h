// SPDX-License-Identifier: Apache-2.0
// What inputs may hold after the end of a sample, read off how the graph uses them.
#pragma once

#include "passes/Lengths/PaddingWalk.h"

namespace accum::lengths {

/// In which order a proof does without them.
enum class Use { Nothing, PadIds, Labels, Weights, Mask };

struct Candidate {
  unsigned argument;
  int64_t axis;
  Use use = Use::Nothing;
  double fill = 0;
  /// A sample has several rows of positions, such as the choices of a question, of which each may end
  /// earlier.
  bool hasRows = false;
};

/// One for each axis of an input that depends on the size.
llvm::SmallVector<Candidate> findCandidates(const Lockstep &sizes);

} // namespace accum::lengths
