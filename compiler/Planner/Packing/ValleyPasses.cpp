// SPDX-License-Identifier: Apache-2.0
// What was found to do best, by kinds of input.
#include "compiler/Planner/Packing/ValleyPasses.h"
#include <iterator>

namespace accum::planner {

namespace {

/// What does best where thousands live together comes first: there a pass takes long.
constexpr ValleyPass kFirstPasses[] = {{{1, 0, 30}, 0.01}, {{1, 1}}, {{1, 0}}, {{0, 1}}, {{2, 1}}, {{1, 2}}};

static_assert(std::size(kFirstPasses) == kQuickPasses);

} // namespace

// Those, then fullest moments first in all degrees: where a pass is cheap, one of many does best.
std::vector<ValleyPass> valleyPasses() {
  std::vector<ValleyPass> passes(std::begin(kFirstPasses), std::end(kFirstPasses));
  for (double both : {0.1, 0.0, 1.0})
    for (double load : {100.0, 30.0, 10.0})
      for (double scale : {0.1, 0.3, 1.0})
        passes.push_back({{1, 0, load}, scale, both});
  return passes;
}

} // namespace accum::planner
