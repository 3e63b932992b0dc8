// SPDX-License-Identifier: Apache-2.0
// Reads whose known indices name rows of their own sample: what "index = iota over the batch plus local"
// means.
#pragma once
#include "compiler/Import/walk/GraphValue.h"

namespace accum::import {

/// Refuses floats and booleans.
void requireIntegers(const GraphValue &indices);

/// Splits axis `axis` of `x`, which is c*N, into [N, c].
mlir::Value splitBatchAxis(Emitter &emit, mlir::Value x, int64_t axis);

/// Refuses an index into an axis of c*N rows that is not c*i + local with 0 <= local < c; else gives `local`.
int64_t localIndex(const Element &index, int64_t rows);

/// Moves c*N on `axis` to the front as N, c staying in place: [N, .., c, ..].
GraphValue batchToFront(Emitter &emit, const GraphValue &x, int64_t axis);
/// The inverse, to the shape that was moved.
mlir::Value batchToPlace(Emitter &emit, mlir::Value x, const Shape &shape, int64_t axis);

/// Refuses indices that may leave the `rows` rows of their own sample.
void requireLocal(const GraphValue::Bounds &bounds, int64_t rows);

/// The row-major position in the leading axes of `x` that index tuples (their last axis) mean; within the
/// sample where a tuple names its own sample. Refuses tuples that may name another one.
mlir::Value linearPositions(Emitter &emit, const GraphValue &x, const GraphValue &tuples);

/// `x` is [N, P, rest...]; `indices` hold positions in P that depend on data; their one batch axis is the
/// batch of x. The result has the shape of `indices`, then rest.
mlir::Value localReadByData(Emitter &emit, mlir::Value x, mlir::Value indices);

/// `x` is [N, P, rest...]; `table` holds a position in P for each element of the slab of `indices`, whose
/// batch axis is the batch of x. The result has the shape of `indices`, then rest.
mlir::Value localRead(Emitter &emit, mlir::Value x, const Content &indices, llvm::ArrayRef<int64_t> table);

} // namespace accum::import
