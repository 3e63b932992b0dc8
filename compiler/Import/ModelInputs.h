// SPDX-License-Identifier: Apache-2.0
// Shapes of the graph's inputs: one symbol is the batch, every other size is fixed.
#pragma once
#include "compiler/Import/Extent.h"
#include "compiler/Import/Import.h"

namespace accum::import {

struct ModelInputs {
  std::string batchDim;                ///< the symbol
  std::map<std::string, Shape> shapes; ///< by input
};

/// All of: open dimensions, unknown names in --dim, inputs without a batch axis, cached keys and values.
Result<ModelInputs> resolveInputs(const Graph &graph, const ImportOptions &options);

} // namespace accum::import
