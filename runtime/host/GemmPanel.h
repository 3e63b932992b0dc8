// SPDX-License-Identifier: Apache-2.0
// Panels of B: what sgemm goes through once for every few rows of A, copied to where it is one piece. As it
// lies in memory its rows are pages apart, or fall into the same few sets of a cache, or are columns.
#ifndef ACCUM_RUNTIME_HOST_GEMMPANEL_H
#define ACCUM_RUNTIME_HOST_GEMMPANEL_H

#include <cstdint>

namespace accum::runtime {

/// The most columns of a panel, and its deepest k: 590 KB, a part of the second cache.
inline constexpr int64_t kPanelColumns = 384, kPanelDepth = 384;

/// Whether this processor copies panels in vectors of 16 floats, transposing them in registers.
bool transposesPanels();

/// k x columns of B in rows of `leading` floats.
struct GemmPanel {
  const float *data;
  int64_t leading;
};

/// The `depth` x `columns` matrix at `b`, whose elements lie `row` and `col` apart, one of them 1: `col`,
/// where panels are not transposed. Into memory of the calling thread, where it stays until its next panel.
GemmPanel panelOf(const float *b, int64_t row, int64_t col, int64_t depth, int64_t columns);

} // namespace accum::runtime
#endif
