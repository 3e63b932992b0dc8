// SPDX-License-Identifier: Apache-2.0
// The samples of a window by length: which of them are computed at which size, in which micro-step, on which
// rank. Plain arithmetic, no data.
#ifndef ACCUM_RUNTIME_DATA_DIVISION_H
#define ACCUM_RUNTIME_DATA_DIVISION_H

#include "runtime/artifact/Manifest.h"
#include "runtime/data/Window.h"

namespace accum::runtime {

struct Division {
  /// One length: the share is all of it.
  explicit Division(const Share &share) { take(share); }
  /// The same again, in the memory that is there.
  void take(const Share &share);
  /// `needs`: of each sample of the window the first of `lengths` that holds it. Every rank computes the same
  /// division from the same window. Samples that do not fill the micro-steps of their length move up to the
  /// next one where all of that takes less predicted time. `rows`: samples of a micro-step, 0: as many as it
  /// has.
  Division(const std::vector<uint8_t> &needs, const std::vector<LengthSpec> &lengths, int ranks, int rank,
           int64_t rows = 0);
  /// Of a window that is what the ranks have, one after the other: `own` of it are this rank's, with their
  /// `needs`. `most`: of each length the samples of the rank that has most.
  Division(const std::vector<uint8_t> &needs, const std::vector<int64_t> &most,
           const std::vector<LengthSpec> &lengths, const Share &own);

  /// By length; K of each is equal on all ranks. Their positions are places in `order`.
  std::vector<Share> shares;
  /// The position in the window of each place, those of a rank one after the other; empty: place and position
  /// are the same.
  std::vector<int64_t> order;
  std::vector<uint32_t> microSteps; ///< K, by length
  uint32_t steps = 0;               ///< of all lengths
  int64_t samples = 0;              ///< of the whole window

  static std::vector<int64_t> countsOf(const std::vector<uint8_t> &needs, size_t lengths);
  int64_t positionOf(int64_t place) const { return order.empty() ? place : order[size_t(place)]; }

private:
  /// Of the next length: a block of that many samples, from `place` on.
  void addShare(Share share, int64_t place);
};

/// Of each length how many samples are computed at it, where `counts` need it: what is left over of each
/// one's full rounds of micro-steps stays or moves up, whichever takes less predicted time in all.
/// `capacity`: samples of a round, of all ranks.
std::vector<int64_t> moveUp(const std::vector<int64_t> &counts, const std::vector<int64_t> &capacity,
                            const std::vector<LengthSpec> &lengths);

} // namespace accum::runtime
#endif
