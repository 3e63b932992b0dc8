// SPDX-License-Identifier: Apache-2.0
// What was found to do best, by kinds of input.
#include "compiler/Planner/Packing/ValleyPasses.h"
#include <iterator>

namespace accum::planner {

namespace {

/// What does best where thousands live together comes first: there a pass takes long.
constexpr ValleyPass kFirstPasses[] = {
    {{1, 0, 30}, 0.01}, {{1, 0, 30, true}, 0.1, 1, 0.003}, {{1, 1}}, {{1, 0}}, {{0, 1}}, {{2, 1}}, {{1, 2}}};

/// Beyond what exact search takes, where a few passes are all there is time for.
constexpr ValleyPass kPassesOfMany[] = {{{1, 0, 30}, 0.01},
                                        {{1, 0, 30, true}, 0.01, 1, 0.003},
                                        {{1, 0, 30, true}, 0.1, 1, 0.003},
                                        {{1, 0, 30, true}, 0.003, 1, 0.003},
                                        {{1, 0, 30, true}, 0.01, 1, 0.001},
                                        {{1, 0, 60, true}, 0.03, 1, 0.01},
                                        {{1, 1}}};

static_assert(std::size(kFirstPasses) == kQuickPasses);

} // namespace

// Those, then fullest moments first in all degrees: where a pass is cheap, one of many does best.
std::vector<ValleyPass> valleyPasses(bool many) {
  std::vector<ValleyPass> passes(std::begin(kFirstPasses), std::end(kFirstPasses));
  if (many)
    passes.assign(std::begin(kPassesOfMany), std::end(kPassesOfMany));
  for (double scale : {0.1, 0.01, 0.03})
    for (double room : {0.003, 0.01, 0.001})
      for (double both : {0.3, 1.0})
        passes.push_back({{1, 0, 30, true}, scale, both, room});
  for (double both : {0.1, 0.0, 1.0})
    for (double load : {100.0, 30.0, 10.0})
      for (double scale : {0.1, 0.3, 1.0})
        passes.push_back({{1, 0, load}, scale, both});
  return passes;
}

} // namespace accum::planner
