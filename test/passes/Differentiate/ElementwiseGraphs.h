// SPDX-License-Identifier: Apache-2.0
// Graphs of each elementwise function, for the test of derivatives.
#pragma once

#include "test/passes/Differentiate/DerivativeCase.h"
#include <optional>

namespace accum::test {

struct NamedGraph {
  std::string name;
  Graph graph;
  /// Only where the operand is batched (true) or replicated (false).
  std::optional<bool> onlyBatched = std::nullopt;
};

std::vector<NamedGraph> elementwiseGraphs();

} // namespace accum::test
