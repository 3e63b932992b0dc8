// SPDX-License-Identifier: Apache-2.0
// Shapes of the graph's inputs: the batch is one symbol, or several, every other size is fixed.
#pragma once
#include "compiler/Import/Import.h"
#include "compiler/Import/content/Extent.h"

namespace accum::import {

struct ModelInputs {
  std::string batchDim;                        ///< the symbol, the first of them
  std::vector<std::string> batchDims;          ///< all that are the batch
  bool batchPresumed = false;                  ///< several, and no flag says that they are one
  std::map<std::string, Shape> shapes;         ///< by input
  std::map<std::string, int64_t> batchAxes;    ///< by input; none where it has no batch axis
  std::map<std::string, int64_t> dimsFromFile; ///< sizes that were taken from the file's own defaults
};

/// A model file may carry sizes for its open dimensions, for when --dim gives none: in the metadata_props of
/// ModelProto, `accum.dim.sequence` = `1024`.
inline constexpr std::string_view kDimKey = "accum.dim.";

/// All of: open dimensions, unknown names in --dim, inputs without a batch axis, cached keys and values
/// (slugs of importModel); a default in the file that is no size or names no dimension (malformed-model).
Result<ModelInputs> resolveInputs(const Model &model, const ImportOptions &options);

} // namespace accum::import
