// SPDX-License-Identifier: Apache-2.0
// The runtime's rules (Gemm.cpp, Attention.cpp) once more, as numbers; a test compares both.
#include "compiler/Planner/Time/TileSchedule.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace accum::planner {

namespace {

constexpr int64_t kTileM = 1024, kTileN = 384, kEnoughTiles = 8, kLeastWork = int64_t{1} << 26,
                  kLeastAlone = int64_t{1} << 22;
constexpr int64_t kSmall = int64_t{1} << 15;
/// How much of k is packed at a time: by oneDNN, and by the runtime for types that sgemm does not take.
constexpr int64_t kPackedDepth = 768, kPanelDepth = 256;
constexpr double kBlockQueries = 64;
// With more pieces a thread, the last one is less than 3 % of its work.
constexpr int64_t kManyPieces = 32;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t whole(double size) { return std::max<int64_t>(1, std::llround(size)); }

int64_t tileOf(int64_t extent, int64_t pieces) { return ceilDiv(ceilDiv(extent, pieces), 16) * 16; }

/// A GEMM's tiles: points x rows x columns of them.
struct Tiles {
  int64_t points, rows, columns, tileM = 0, tileN = 0;
  bool atMost(int64_t count) const { // sizes may be anything
    return static_cast<double>(points) * static_cast<double>(rows) * static_cast<double>(columns) <=
           static_cast<double>(count);
  }
};

Tiles tilesOf(int64_t points, int64_t m, int64_t n, int64_t k) {
  int64_t rows = ceilDiv(m, kTileM), columns = ceilDiv(n, kTileN);
  auto few = [&](int64_t count) { return Tiles{points, rows, columns}.atMost(count); };
  auto isWorth = [&](int64_t least) {
    int64_t eachM = ceilDiv(m, rows), eachN = ceilDiv(n, columns);
    return static_cast<double>(eachM) * static_cast<double>(eachN) * static_cast<double>(k) >=
               static_cast<double>(least) &&
           std::max(eachM, eachN) >= 32;
  };
  auto longer = [&]() -> int64_t & { return ceilDiv(m, rows) > ceilDiv(n, columns) ? rows : columns; };
  while (few(kEnoughTiles - 1) && isWorth(few(1) ? kLeastAlone : kLeastWork))
    longer() *= 2;
  if (few(kEnoughTiles - 1) && points * rows * columns % 2 == 1 && isWorth(kLeastAlone))
    ++longer();
  int64_t tileM = tileOf(m, rows), tileN = tileOf(n, columns);
  return {points, ceilDiv(m, tileM), ceilDiv(n, tileN), tileM, tileN};
}

/// Pieces of that many multiply-adds that one thread takes at a time.
int64_t together(double work) {
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(kSmall) / std::max(1.0, work)));
}

/// Neighbours together, as the thread pool hands them out: `count` things in `chunks`, the first ones longer.
template <typename Work> std::vector<double> inChunks(int64_t count, int64_t perChunk, Work work) {
  int64_t chunks = ceilDiv(count, perChunk), size = count / chunks, longer = count % chunks, at = 0;
  std::vector<double> sums(static_cast<size_t>(chunks), 0);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (int64_t end = at + size + (chunk < longer ? 1 : 0); at < end; ++at)
      sums[static_cast<size_t>(chunk)] += work(at);
  return sums;
}

double blocksOf(double queries) { return std::ceil(queries / kBlockQueries); }

double busiestOver(const std::vector<double> &pieces, int threads) {
  std::vector<double> loads(static_cast<size_t>(std::max(1, threads)), 0);
  for (double piece : pieces)
    *std::ranges::min_element(loads) += piece;
  double sum = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  return sum > 0 ? *std::ranges::max_element(loads) * static_cast<double>(loads.size()) / sum : 1;
}

double gemmUnevenness(int64_t points, int64_t m, int64_t n, int64_t k, int threads) {
  if (!tilesOf(points, m, n, k).atMost(kManyPieces * threads))
    return 1;
  return busiestOver(gemmPieces(points, m, n, k), threads);
}

/// `units` equal ones of that many multiply-adds; of blocks of queries, the last of a head may be shorter,
/// which a table's points do not say either.
double attentionUnevenness(double units, double work, int threads) {
  if (units > static_cast<double>(kManyPieces * threads * together(work)))
    return 1;
  return busiestOver(inChunks(whole(units), together(work), [](int64_t) { return 1.0; }), threads);
}

} // namespace

std::vector<double> gemmPieces(int64_t points, int64_t m, int64_t n, int64_t k) {
  Tiles tiles = tilesOf(points, m, n, k);
  int64_t perPoint = tiles.rows * tiles.columns;
  double work = static_cast<double>(tiles.tileM * tiles.tileN) * static_cast<double>(k);
  return inChunks(tiles.points * perPoint, together(work), [&](int64_t tile) {
    int64_t row = tile % perPoint / tiles.columns * tiles.tileM, column = tile % tiles.columns * tiles.tileN;
    return static_cast<double>(std::min(tiles.tileM, m - row)) *
           static_cast<double>(std::min(tiles.tileN, n - column)) * static_cast<double>(k);
  });
}

/// Of products of short floats, whatever the threads: the library's code for them, and the matrices by which
/// a run finds out who multiplies them faster.
constexpr int64_t kShortBytes = 512 << 10;

int64_t packedBytes(const CallShape &call, std::string_view dtype, int64_t m, int64_t threads) {
  if (call.sizes.size() != 4)
    return 0;
  auto size = [&](size_t index) { return whole(call.sizes[index].real(m)); };
  int64_t k = size(3);
  Tiles tiles = tilesOf(size(0), size(1), size(2), k);
  double each = static_cast<double>(tiles.tileM * tiles.tileN) * static_cast<double>(k);
  if (int64_t count = threads * together(each); tiles.atMost(count))
    threads = ceilDiv(tiles.points * tiles.rows * tiles.columns, together(each));
  int64_t rows = std::min(tiles.tileM, kTileM), columns = std::min(tiles.tileN, kTileN);
  if (dtype != "f32" && dtype != "f64")
    return kShortBytes + threads * 4 * (kTileM * kPanelDepth + kPanelDepth * kTileN + kTileM * kTileN);
  return threads * 4 * (rows * columns + (rows + columns) * std::min(k, kPackedDepth));
}

double unevenness(const CallShape &call, int64_t m, int64_t pieces, int threads) {
  auto size = [&](size_t index) { return whole(call.sizes[index].real(m, pieces)); };
  if (call.name.starts_with("gemm"))
    return gemmUnevenness(size(0), size(1), size(2), size(3), threads);
  auto real = [&](size_t index) { return static_cast<double>(size(index)); };
  bool backward = call.name.starts_with("attention-backward");
  double units = real(0) * (backward ? real(2) : real(1) * blocksOf(real(3)));
  return attentionUnevenness(units, std::min(real(3), kBlockQueries) * real(4) * real(5), threads);
}

double unevenness(std::string_view call, const std::array<double, 3> &point, int threads) {
  if (call.starts_with("gemm"))
    return gemmUnevenness(1, whole(point[0]), whole(point[1]), whole(point[2]), threads);
  double x = std::round(point[0]), y = std::max(1.0, std::round(point[1])), z = std::round(point[2]);
  double units = x * (call.starts_with("attention-backward") ? 1 : blocksOf(y));
  return attentionUnevenness(units, std::min(y, kBlockQueries) * y * z, threads);
}

} // namespace accum::planner
