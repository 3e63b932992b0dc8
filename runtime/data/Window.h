// SPDX-License-Identifier: Apache-2.0
// Which samples of a window a rank sees in which micro-step. Plain arithmetic, no data.
#ifndef ACCUM_RUNTIME_DATA_WINDOW_H
#define ACCUM_RUNTIME_DATA_WINDOW_H

#include "runtime/data/Epochs.h"
#include <cstdint>
#include <optional>

namespace accum::runtime {

/// A rank's share of a window: contiguous blocks, of ceil(samples / ranks) where they are dealt out, K equal
/// on all ranks.
struct Share {
  int64_t begin, end; ///< positions in the window; empty on a rank that has none
  int64_t samples;    ///< of the whole window
  int64_t m;
  int64_t rows;   ///< samples of a micro-step: m, or fewer to check that the cut does not matter
  uint32_t steps; ///< K = ceil(largest block / rows)
  static constexpr uint32_t kNone = UINT32_MAX;
  std::optional<uint32_t> only =
      {};                ///< this one comes last, and the others have no real sample; kNone: none has
  bool reversed = false; ///< the last samples in the first micro-step

  Share(int64_t samples, int64_t m, int ranks, int rank, int64_t rows = 0);
  /// Of a window that is what the ranks have, one behind the other: so many each, at least one.
  Share(const std::vector<int64_t> &counts, size_t rank, int64_t m);
  /// The window in a data set that holds `held` samples: all of them, or this rank's alone, whose first is
  /// then at position `begin`.
  Window windowOf(int64_t held) const {
    return {0, held == samples ? 0 : uint64_t(0) - uint64_t(begin), samples};
  }
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
