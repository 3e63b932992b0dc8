// SPDX-License-Identifier: Apache-2.0
// Which samples of a window a rank sees in which micro-step. Plain arithmetic, no data.
#ifndef ACCUM_RUNTIME_DATA_WINDOW_H
#define ACCUM_RUNTIME_DATA_WINDOW_H

#include "runtime/data/Epochs.h"
#include <cstdint>
#include <optional>

namespace accum::runtime {

/// A rank's share of a window: contiguous blocks of ceil(samples / ranks), K equal on all ranks.
struct Share {
  int64_t begin, end; ///< positions in the window; empty on a rank that has none
  int64_t samples;    ///< of the whole window
  int64_t m;
  int64_t rows;   ///< samples of a micro-step: m, or fewer to check that the cut does not matter
  uint32_t steps; ///< K = ceil(ceil(samples / ranks) / rows)
  std::optional<uint32_t> only = {}; ///< this one comes last, and the others have no real sample
  bool reversed = false;             ///< the last samples in the first micro-step

  Share(int64_t samples, int64_t m, int ranks, int rank, int64_t rows = 0);
  /// Position in the window of the first row of micro-step k.
  int64_t firstRow(uint32_t k) const { return begin + int64_t(pieceOf(k)) * rows; }
  /// Real samples of micro-step k, 0 .. rows.
  int64_t valid(uint32_t k) const;
  /// The sample that row `row` of micro-step k holds: spare rows repeat a real one.
  int64_t sampleOf(uint32_t k, int64_t row) const;

private:
  /// Which piece of the block micro-step k has: the k-th, unless it is checked that the order does not
  /// matter.
  uint32_t pieceOf(uint32_t k) const;
};

} // namespace accum::runtime
#endif
