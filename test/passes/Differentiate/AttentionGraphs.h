// SPDX-License-Identifier: Apache-2.0
// Graphs around attention, for the test of derivatives.
#pragma once

#include "test/passes/Differentiate/DerivativeCase.h"

namespace accum::test {

/// Graphs by name. Rows that see nothing are left out where their weights do not follow their scores in f64.
std::vector<std::pair<std::string, Graph>> attentionGraphs();

} // namespace accum::test
