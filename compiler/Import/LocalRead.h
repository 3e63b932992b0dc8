// SPDX-License-Identifier: Apache-2.0
// Reads whose known indices name rows of their own sample: what "index = iota over the batch plus local"
// means.
#pragma once
#include "compiler/Import/GraphValue.h"

namespace accum::import {

/// Splits axis `axis` of `x`, which is c*N, into [N, c].
mlir::Value splitBatchAxis(Emitter &emit, mlir::Value x, int64_t axis);

/// Refuses an index into an axis of c*N rows that is not c*i + local with 0 <= local < c; else gives `local`.
int64_t localIndex(const Element &index, int64_t rows);

/// `x` is [N, P, rest...]; `table` holds a position in P for each element of the slab of `indices`, whose
/// batch axis is the batch of x. The result has the shape of `indices`, then rest.
mlir::Value localRead(Emitter &emit, mlir::Value x, const Content &indices, llvm::ArrayRef<int64_t> table);

} // namespace accum::import
