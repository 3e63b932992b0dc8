// SPDX-License-Identifier: Apache-2.0
// Panels of a transposed A whose columns map to the same few cache sets: transposed while they are packed for
// sgemm.
#ifndef ACCUM_RUNTIME_HOST_GEMMTRANSPOSED_H
#define ACCUM_RUNTIME_HOST_GEMMTRANSPOSED_H

#include "runtime/host/GemmPanel.h"

namespace accum::runtime {

/// The most rows of a transposed panel, and its deepest k: 400 KB, a part of the second cache.
inline constexpr int64_t kTransposedRows = 384, kTransposedDepth = 256;

/// Whether this processor gains by it: one with vectors of 8 floats, not of 16.
bool transposesPanelsOfA();

/// The `rows` x `depth` matrix at `a`, whose rows are one element apart and whose columns `col`, row by row.
/// Into memory of the calling thread, where it stays until its next transposed panel.
GemmPanel transposedPanelOf(const float *a, int64_t col, int64_t rows, int64_t depth);

} // namespace accum::runtime
#endif
