// SPDX-License-Identifier: Apache-2.0
// Minimum cut: which values to store for the backward pass, which to recompute, at a price per stored byte.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include "compiler/Planner/Problem/Recompute.h"

namespace accum::planner {

/// One decision for several commands that look alike.
struct DecisionClass {
  std::vector<int> members = {}; ///< commands, ascending
};

/// With a price on every byte that is kept from the forward part for the backward part, keeping and
/// recomputing is a minimum cut: a value needed late costs its bytes where its command does not run again; a
/// command that runs again costs its time and needs its operands late. Members of a class decide alike, so
/// that the network has the size of one layer, however many there are.
class CheckpointCut {
public:
  /// `seconds` per command and `bytes` per buffer, at one micro-batch size.
  CheckpointCut(const Problem &problem, const Recomputation &flow, const std::vector<DecisionClass> &classes,
                const std::vector<double> &seconds, const std::vector<double> &bytes);

  /// The best decisions (per class: run again) for every price: the lower hull of time over bytes, from
  /// nothing recomputed to least kept. At most `most` points, fewer where the deadline passes.
  std::vector<std::vector<char>> hull(size_t most, Deadline deadline = {}) const;

private:
  /// Needed late from a class (or from nowhere that can run again): who asks, what it costs to keep.
  struct Value {
    int source = kNoIndex; ///< class; kNoIndex: must be kept where it is needed
    bool needed = false;   ///< by the backward part itself
    double bytes = 0;
    std::vector<int> askers = {}; ///< classes
  };
  struct Point {
    std::vector<char> again = {};
    double seconds = 0, bytes = 0;
  };

  Point solve(double secondsPerByte) const;

  std::vector<double> seconds; ///< per class
  std::vector<Value> values;
};

} // namespace accum::planner
