// SPDX-License-Identifier: Apache-2.0
// Where the rows of a sample (its tokens) lie in a value, so that a sample can be cut into pieces.
#pragma once

#include "mlir/IR/Operation.h"
#include <optional>

namespace accum::nn {

/// The axis of a batched slab that counts the `rows` rows of each sample, with nothing but 1 before it: 0 of
/// 16x97, 1 of 1x16x97, for 16 rows. None where the value has one element or more a sample, whatever the row.
std::optional<unsigned> rowAxis(mlir::Type type, int64_t rows);

/// Whether the op computes each row from the same row of its operands (or adds up all of them), so that it
/// can run for some rows of a sample. `valid` of a mask, one element a sample, is the same for all rows.
bool isRowLocal(mlir::Operation *op, int64_t rows);

} // namespace accum::nn
