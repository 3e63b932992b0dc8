// SPDX-License-Identifier: Apache-2.0
// Sums over ranks by shares, over whatever moves bytes between ranks. Each rank sums its share of a piece, in
// the order of the ranks whichever terms come first, and sends it to all: the bits are the same on every
// rank, in every run and over every kind of connection. Pieces are small: no more than 1 MiB waits to be
// summed.
#ifndef ACCUM_RUNTIME_RANKS_SHARES_H
#define ACCUM_RUNTIME_RANKS_SHARES_H

#include "runtime/accum_collectives.h"
#include "runtime/accum_program.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace accum::runtime {

/// What is still to be sent to a rank, and to be received from it.
struct Transfer {
  const uint8_t *out = nullptr;
  uint8_t *in = nullptr;
  uint64_t outLeft = 0, inLeft = 0;
  bool isDone() const { return outLeft == 0 && inLeft == 0; }
};

class Shares {
public:
  /// By rank. An `exchange()` of the functions below moves all of them, and returns 0, or a failure that they
  /// return.
  std::vector<Transfer> transfers;

  void start(int ownRank, int ranks);

  /// i32, i64, f32 and f64.
  static bool isSummable(int32_t dtype);

  /// As in accum_collectives.h.
  template <typename Exchange>
  int allReduce(void *data, uint64_t n, int32_t dtype, int32_t reduction, Exchange &&exchange) {
    auto ranks = uint64_t(count), size = sizeOf(dtype), step = pieceBytes / size;
    for (uint64_t first = 0; first < n; first += step * ranks) {
      uint64_t all = std::min(step * ranks, n - first), each = (all + ranks - 1) / ranks;
      auto shareOf = [&](int rank) -> Share {
        uint64_t from = std::min(uint64_t(rank) * each, all);
        return {static_cast<uint8_t *>(data) + (first + from) * size, std::min(each, all - from) * size};
      };
      if (int code = sum(shareOf, dtype, reduction, exchange))
        return code;
      if (int code = spread(shareOf, exchange))
        return code;
    }
    return 0;
  }

  template <typename Exchange> int reduceScatter(void *data, uint64_t n, int32_t dtype, Exchange &&exchange) {
    return overParts(data, n * sizeOf(dtype),
                     [&](auto &&shareOf) { return sum(shareOf, dtype, ACCUM_SUM, exchange); });
  }

  template <typename Exchange> int allGather(void *data, uint64_t bytes, Exchange &&exchange) {
    return overParts(data, bytes, [&](auto &&shareOf) { return spread(shareOf, exchange); });
  }

private:
  /// What a rank has of a piece.
  struct Share {
    uint8_t *data;
    uint64_t bytes;
  };

  static uint64_t sizeOf(int32_t dtype) { return dtype == ACCUM_I64 || dtype == ACCUM_F64 ? 8 : 4; }
  uint8_t *termOf(int rank) { return terms.data() + uint64_t(rank) * pieceBytes; }
  /// `share` becomes the sum of all ranks' terms, those of the others being in `terms`.
  void combineTerms(Share share, int32_t dtype, int32_t reduction);

  /// shareOf(rank) is the Share of each rank in this rank's data. The own one becomes the sum of all ranks'.
  template <typename ShareOf, typename Exchange>
  int sum(ShareOf &&shareOf, int32_t dtype, int32_t reduction, Exchange &&exchange) {
    Share mine = shareOf(own);
    for (int rank = 0; rank < count; ++rank) {
      Share share = shareOf(rank);
      transfers[rank] =
          rank == own ? Transfer{} : Transfer{share.data, termOf(rank), share.bytes, mine.bytes};
    }
    if (int code = exchange())
      return code;
    combineTerms(mine, dtype, reduction);
    return 0;
  }

  /// The own share comes to all ranks, and theirs to this one.
  template <typename ShareOf, typename Exchange> int spread(ShareOf &&shareOf, Exchange &&exchange) {
    Share mine = shareOf(own);
    for (int rank = 0; rank < count; ++rank) {
      Share share = shareOf(rank);
      transfers[rank] = rank == own ? Transfer{} : Transfer{mine.data, share.data, mine.bytes, share.bytes};
    }
    return exchange();
  }

  /// body(shareOf) for each piece, where the data has a part of so many bytes for each rank.
  template <typename Body> int overParts(void *data, uint64_t bytes, Body &&body) {
    for (uint64_t first = 0; first < bytes; first += pieceBytes)
      if (int code = body([&](int rank) -> Share {
            return {static_cast<uint8_t *>(data) + uint64_t(rank) * bytes + first,
                    std::min(pieceBytes, bytes - first)};
          }))
        return code;
    return 0;
  }

  int own = 0, count = 1;
  uint64_t pieceBytes = 0;
  std::vector<uint8_t> terms; ///< a piece of each rank's
};

} // namespace accum::runtime
#endif
