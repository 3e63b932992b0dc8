// SPDX-License-Identifier: Apache-2.0
// How a library call is cut into pieces that one thread takes at a time: by its sizes alone, so that bits do
// not depend on the number of threads. The planner predicts times by the same rules, so this header needs
// nothing else of the runtime.
#ifndef ACCUM_RUNTIME_HOST_CALLTILES_H
#define ACCUM_RUNTIME_HOST_CALLTILES_H

#include <algorithm>
#include <cstdint>

namespace accum::runtime {

/// The most rows and columns of a tile, and of one of bf16, which is packed in less time than it is
/// multiplied only if it is wide. Every tile packs its operands anew: with smaller ones that costs over a
/// tenth, with larger ones threads are idle (measured with the shapes of GPT-2 124M).
inline constexpr int64_t kGemmTileM = 1024, kGemmTileN = 384;
inline constexpr int64_t kBf16TileM = 512, kBf16TileN = 768;
/// Of k, what is packed at a time of types that sgemm does not take, and the floats of a thread's panels: of
/// A, of B and of the result.
inline constexpr int64_t kPanelDepthOfShort = 256;
inline constexpr int64_t kPanelA = kGemmTileM * kPanelDepthOfShort,
                         kPanelB = kPanelDepthOfShort * std::max(kGemmTileN, kBf16TileN),
                         kPanelC = kGemmTileM * kGemmTileN;
/// Of k, what is rounded to bf16 at a time of a weight in f32.
inline constexpr int64_t kRoundedDepth = 768;
static_assert(kBf16TileM <= kGemmTileM && kBf16TileM * kBf16TileN <= kPanelC);
/// Queries of a head that attention treats at a time, and the most of them: 65 are one block, not 64 and one.
inline constexpr int64_t kBlockQueries = 64, kMostQueries = 3 * kBlockQueries / 2;

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Neighbours that a thread takes at a time, of `work` multiply-adds each: with fewer than this, handing them
/// to another thread costs more than they do.
inline int64_t takenTogether(double work) {
  constexpr double kSmall = 1 << 15;
  return std::max<int64_t>(1, static_cast<int64_t>(kSmall / std::max(1.0, work)));
}

/// Of a GEMM: points x rows x columns tiles. Sizes may be any, as a plan's are, so products are doubles.
struct GemmTiling {
  int64_t points = 1, rows = 1, columns = 1;
  int64_t tileM = 0, tileN = 0; ///< multiples of 16; the last of a row or column may be smaller
  int64_t together = 1;         ///< tiles that a thread takes at a time

  double count() const {
    return static_cast<double>(points) * static_cast<double>(rows) * static_cast<double>(columns);
  }
  int64_t perPoint() const { return rows * columns; }
  /// Pieces; for sizes that are really multiplied.
  int64_t pieces() const { return ceilDiv(points * perPoint(), together); }
};

/// `bf16`: whether the operands are bf16.
inline GemmTiling tilingOf(int64_t points, int64_t m, int64_t n, int64_t k, bool bf16) {
  // While there are fewer tiles than this, they are halved down to so many multiply-adds, some 0.2 ms at the
  // best rates; one that would be alone already where its halves are worth a second thread.
  constexpr double kEnough = 8, kLeastWork = 1 << 26, kLeastBf16Work = 5.0 * (1 << 26), kLeastAlone = 1 << 22;
  GemmTiling tiling{.points = points,
                    .rows = ceilDiv(m, bf16 ? kBf16TileM : kGemmTileM),
                    .columns = ceilDiv(n, bf16 ? kBf16TileN : kGemmTileN)};
  auto isWorth = [&](double least) {
    int64_t eachM = ceilDiv(m, tiling.rows), eachN = ceilDiv(n, tiling.columns);
    return static_cast<double>(eachM) * static_cast<double>(eachN) * static_cast<double>(k) >= least &&
           std::max(eachM, eachN) >= 32;
  };
  auto longer = [&]() -> int64_t & {
    return ceilDiv(m, tiling.rows) > ceilDiv(n, tiling.columns) ? tiling.rows : tiling.columns;
  };
  while (tiling.count() < kEnough && isWorth(tiling.count() == 1 ? kLeastAlone
                                             : bf16              ? kLeastBf16Work
                                                                 : kLeastWork))
    longer() *= 2;
  // The last one of an odd few is done by one thread while others wait.
  if (tiling.count() < kEnough && points * tiling.perPoint() % 2 == 1 && isWorth(kLeastAlone))
    ++longer();
  auto tileOf = [](int64_t extent, int64_t pieces) { return ceilDiv(ceilDiv(extent, pieces), 16) * 16; };
  tiling.tileM = tileOf(m, tiling.rows);
  tiling.tileN = tileOf(n, tiling.columns);
  tiling.rows = ceilDiv(m, tiling.tileM);
  tiling.columns = ceilDiv(n, tiling.tileN);
  tiling.together = takenTogether(static_cast<double>(tiling.tileM) * static_cast<double>(tiling.tileN) *
                                  static_cast<double>(k));
  return tiling;
}

/// Blocks of a head's queries, of equal sizes up to one and at most kMostQueries. Number: int64_t or double.
template <typename Number> Number blocksOfQueries(Number queries) {
  auto blocks = static_cast<int64_t>((queries + kBlockQueries / 2 - 1) / kBlockQueries);
  return static_cast<Number>(std::max<int64_t>(1, blocks));
}

/// Units of attention that one thread computes at least: blocks of a head's queries; whole groups of heads
/// backward, whose gradients they share, and in bf16, which is widened once a group. Number: int64_t, or
/// double for sizes that may be any.
template <typename Number>
Number attentionUnits(Number batch, Number heads, Number groups, Number blocks, bool backward, bool bf16) {
  return batch * (backward || bf16 ? groups : heads * blocks);
}

/// Multiply-adds of a block of queries, by which units are taken together.
inline double workOfBlock(double queries, double keys, double features) {
  return std::min(queries, static_cast<double>(kBlockQueries)) * keys * features;
}

} // namespace accum::runtime
#endif
