// SPDX-License-Identifier: Apache-2.0
// The runtime's pieces as numbers.
#include "compiler/Planner/Time/TileSchedule.h"
#include "runtime/host/CallTiles.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accum::planner {

namespace {

using runtime::ceilDiv;

/// How much of k oneDNN packs at a time.
constexpr int64_t kPackedDepth = 768;
// With more pieces a thread, the last one is less than 3 % of its work.
constexpr int64_t kManyPieces = 32;

int64_t whole(double size) { return std::max<int64_t>(1, std::llround(size)); }

/// Neighbours together, as the thread pool hands them out: `count` things in `chunks`, the first ones longer.
template <typename Work> std::vector<double> inChunks(int64_t count, int64_t perChunk, Work work) {
  int64_t chunks = ceilDiv(count, perChunk), size = count / chunks, longer = count % chunks, at = 0;
  std::vector<double> sums(static_cast<size_t>(chunks), 0);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t end = at + size + (chunk < longer ? 1 : 0); at < end; ++at)
      sums[static_cast<size_t>(chunk)] += work(at);
  return sums;
}

double busiestOver(const std::vector<double> &pieces, int threads) {
  std::vector<double> loads(static_cast<size_t>(std::max(1, threads)), 0);
  for (double piece : pieces)
    *std::ranges::min_element(loads) += piece;
  double sum = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  return sum > 0 ? *std::ranges::max_element(loads) * static_cast<double>(loads.size()) / sum : 1;
}

double gemmUnevenness(int64_t points, int64_t m, int64_t n, int64_t k, std::string_view dtype, int threads) {
  if (runtime::tilingOf(points, m, n, k, dtype == "bf16").count() >
      static_cast<double>(kManyPieces * threads))
    return 1;
  return busiestOver(gemmPieces(points, m, n, k, dtype), threads);
}

/// `units` equal ones of that many multiply-adds; of blocks of queries, the last of a head may be shorter,
/// which a table's points do not say either.
double attentionUnevenness(double units, double work, int threads) {
  int64_t together = runtime::takenTogether(work);
  if (units > static_cast<double>(kManyPieces * threads * together))
    return 1;
  return busiestOver(inChunks(whole(units), together, [](int64_t) { return 1.0; }), threads);
}

} // namespace

std::vector<double> gemmPieces(int64_t points, int64_t m, int64_t n, int64_t k, std::string_view dtype) {
  runtime::GemmTiling tiles = runtime::tilingOf(points, m, n, k, dtype == "bf16");
  return inChunks(points * tiles.perPoint(), tiles.together, [&](int64_t tile) {
    int64_t row = tile % tiles.perPoint() / tiles.columns * tiles.tileM,
            column = tile % tiles.columns * tiles.tileN;
    return static_cast<double>(std::min(tiles.tileM, m - row)) *
           static_cast<double>(std::min(tiles.tileN, n - column)) * static_cast<double>(k);
  });
}

/// Of products of short floats, whatever the threads: the library's code for them, and the matrices by which
/// a run finds out who multiplies them faster.
constexpr int64_t kShortBytes = 512 << 10;
constexpr int64_t kPanelBytes = 4 * (runtime::kPanelA + runtime::kPanelB + runtime::kPanelC);

int64_t packedBytes(const CallShape &call, std::string_view dtype, int64_t m, int64_t threads) {
  if (call.sizes.size() != 4)
    return 0;
  auto size = [&](size_t index) { return whole(call.sizes[index].real(m)); };
  runtime::GemmTiling tiles = runtime::tilingOf(size(0), size(1), size(2), size(3), dtype == "bf16");
  if (tiles.count() <= static_cast<double>(threads * tiles.together))
    threads = tiles.pieces();
  if (dtype == "bf16") {
    // Products are widened or the processor's own, and measuring which takes memory for both: panels; and
    // sums, what is rounded of B, and what the library packs.
    constexpr int64_t m = runtime::kBf16TileM, n = runtime::kBf16TileN, k = runtime::kRoundedDepth;
    return kShortBytes + threads * (kPanelBytes + 4 * m * n + 2 * k * n + 4 * m * n + 2 * k * (m + n));
  }
  if (dtype != "f32" && dtype != "f64")
    return kShortBytes + threads * kPanelBytes;
  int64_t rows = std::min(tiles.tileM, runtime::kGemmTileM),
          columns = std::min(tiles.tileN, runtime::kGemmTileN);
  return threads * 4 * (rows * columns + (rows + columns) * std::min(size(3), kPackedDepth));
}

double unevenness(const CallShape &call, std::string_view dtype, int64_t m, int64_t pieces, int threads) {
  auto size = [&](size_t index) { return whole(call.sizes[index].real(m, pieces)); };
  if (call.name.starts_with("gemm"))
    return gemmUnevenness(size(0), size(1), size(2), size(3), dtype, threads);
  auto real = [&](size_t index) { return static_cast<double>(size(index)); };
  double units = runtime::attentionUnits(real(0), real(1), real(2), runtime::blocksOfQueries(real(3)),
                                         call.name.starts_with("attention-backward"), dtype == "bf16");
  return attentionUnevenness(units, runtime::workOfBlock(real(3), real(4), real(5)), threads);
}

double unevenness(std::string_view call, std::string_view dtype, const std::array<double, 3> &point,
                  int threads) {
  if (call.starts_with("gemm"))
    return gemmUnevenness(1, whole(point[0]), whole(point[1]), whole(point[2]), dtype, threads);
  double heads = std::round(point[0]), length = std::max(1.0, std::round(point[1]));
  double units = runtime::attentionUnits(1.0, heads, heads, runtime::blocksOfQueries(length),
                                         call.starts_with("attention-backward"), dtype == "bf16");
  return attentionUnevenness(units, runtime::workOfBlock(length, length, std::round(point[2])), threads);
}

} // namespace accum::planner
