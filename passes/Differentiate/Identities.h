// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/Block.h"

namespace accum {

/// Square tables of at least `elements` with one number on the diagonal and another off it, as masks of
/// pairs have them, become comparisons of row and column: a part of one needs no table.
void expandIdentities(mlir::Block &block, int64_t elements);

} // namespace accum
