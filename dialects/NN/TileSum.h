// SPDX-License-Identifier: Apache-2.0
// The first stage of a column sum: each tile of consecutive rows is summed separately.
#pragma once

#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// `reduce <sum> (reshape rows)` where the reshape cuts the axis before the last one into tiles, and the
/// reduction folds the rows of each: rows[..., t * height + i, c] summed over i is result[..., t, c].
struct TileSum {
  mlir::Value rows; ///< of rank 2 at least
  int64_t height;   ///< rows of a tile
};

/// Nothing where `op` is no such sum.
std::optional<TileSum> tileSumOf(mlir::Operation *op);

} // namespace accum::nn
