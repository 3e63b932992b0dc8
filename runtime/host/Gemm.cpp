// SPDX-License-Identifier: Apache-2.0
// Cuts a GEMM into tiles by its shape alone and runs each tile with one thread. oneDNN's own threading splits
// k for small outputs (up to 64 x 64 on 8 threads, measured with 2.6), and then bits follow the thread count.
#include "runtime/host/Gemm.h"
#include "runtime/files/DType.h"
#include "runtime/host/CallTiles.h"
#include "runtime/host/GemmBf16.h"
#include "runtime/host/GemmPacked.h"
#include "runtime/host/GemmPanel.h"
#include "runtime/host/GemmTransposed.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <atomic>

namespace accum::runtime {
namespace {

// Columns of a transposed A that lie whole pages apart fall into the same sets of the caches while they are
// packed: with this many of them at a time they stay there (1024 x 256 x 4160: 245 instead of 200 GFLOP/s).
constexpr int64_t kPage = 4096, kDepthOfPages = 256;
// Beside a panel of B sgemm takes fewer rows of any transposed A gladly: 150 instead of 120 GFLOP/s with 384.
constexpr int64_t kDepthOfTransposed = 256;

/// How much of k one call of the library takes.
int64_t depthOf(const accum_gemm &call) {
  bool isTransposed = call.a_col != 1 && call.a_col * int64_t(sizeof(float)) % kPage == 0;
  return isTransposed && call.k >= 2 * kDepthOfPages ? kDepthOfPages : call.k;
}

/// Rows that make a panel of B worth its copy; more of a transposed A, which sgemm reads worse itself.
constexpr int64_t kRowsOfPanel = 96, kRowsOfTransposedPanel = 192;

/// Whether neighbours along the stride that is not 1 fall into the same few sets of a cache.
bool sharesSets(const GemmOperand &operand) {
  return operand.leading * int64_t(sizeof(float)) % (kPage / 2) == 0;
}

bool usesPanels(const GemmOperand &a, const GemmOperand &b, int64_t m) {
  if (!transposesPanels()) // then sgemm packs better by itself, but for rows that fall into the same sets
    return b.transpose == 'N' && sharesSets(b) &&
           m >= (a.transpose == 'T' ? kRowsOfTransposedPanel : kRowsOfPanel);
  // Rows of B less than a page apart are read as fast where they are.
  bool isReadGladly = b.transpose == 'N' && b.leading * int64_t(sizeof(float)) < kPage;
  return a.transpose == 'T' ? m >= kRowsOfTransposedPanel : m >= kRowsOfPanel && !isReadGladly;
}

/// One tile: where its operands begin, and what its sums are added to.
struct F32Tile {
  GemmOperand a, b;
  const float *left, *right, *bias;
  float *c;
  int64_t m, n;
  float beta;
};

/// Rows that get their bias at a time: they are still in a near cache then. To begin with the bias takes a
/// quarter longer where k is short, since rows of C come from memory while nothing is computed.
constexpr int64_t kBiasedRows = 128;

/// C of a tile, or of n of its columns, (+)= `depth` of k from `at` on; B from there on is `b`.
int multiplyDepth(const accum_gemm &call, const F32Tile &tile, const float *b, GemmOperand how, int64_t at,
                  int64_t depth, int64_t col, int64_t n) {
  bool biased = at == 0 && tile.bias;
  int64_t rows = biased ? kBiasedRows : tile.m;
  for (int64_t row = 0; row < tile.m; row += rows) {
    int64_t m = std::min(rows, tile.m - row);
    float *c = tile.c + row * call.c_row + col;
    if (int code = gemmLibrary().sgemm(tile.a.transpose, how.transpose, m, n, depth, 1.0f,
                                       tile.left + row * call.a_row + at * call.a_col, tile.a.leading, b,
                                       how.leading, at > 0 ? 1.0f : tile.beta, c, call.c_row))
      return code;
    for (int64_t i = 0; biased && i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        c[i * call.c_row + j] += tile.bias[col + j];
  }
  return 0;
}

int multiplyInPlace(const accum_gemm &call, const F32Tile &tile) {
  int64_t deepest = depthOf(call);
  for (int64_t at = 0; at < call.k; at += deepest)
    if (int code = multiplyDepth(call, tile, tile.right + at * call.b_row, tile.b, at,
                                 std::min(deepest, call.k - at), 0, tile.n))
      return code;
  return 0;
}

int multiplyPanels(const accum_gemm &call, const F32Tile &tile) {
  int64_t deepest = tile.a.transpose == 'T' ? kDepthOfTransposed : kPanelDepth;
  for (int64_t col = 0; col < tile.n; col += kPanelColumns)
    for (int64_t at = 0; at < call.k; at += deepest) {
      int64_t n = std::min(kPanelColumns, tile.n - col), depth = std::min(deepest, call.k - at);
      GemmPanel b =
          panelOf(tile.right + at * call.b_row + col * call.b_col, call.b_row, call.b_col, depth, n);
      if (int code = multiplyDepth(call, tile, b.data, {'N', b.leading}, at, depth, col, n))
        return code;
    }
  return 0;
}

/// Columns and k that make it worth transposing A.
constexpr int64_t kColumnsOfTransposed = 64, kDepthToTranspose = 16;

bool transposesA(const accum_gemm &call, const F32Tile &tile) {
  return tile.a.transpose == 'T' && sharesSets(tile.a) && !tile.bias && tile.n >= kColumnsOfTransposed &&
         call.k >= kDepthToTranspose && transposesPanelsOfA();
}

/// C of n columns of a tile (+)= `depth` of k from `at` on.
int multiplyTransposed(const accum_gemm &call, const F32Tile &tile, int64_t col, int64_t n, int64_t at,
                       int64_t depth) {
  GemmPanel b{tile.right + at * call.b_row + col * call.b_col, tile.b.leading};
  bool copiesB = usesPanels(tile.a, tile.b, tile.m);
  if (copiesB)
    b = panelOf(b.data, call.b_row, call.b_col, depth, n);
  for (int64_t row = 0; row < tile.m; row += kTransposedRows) {
    int64_t m = std::min(kTransposedRows, tile.m - row);
    GemmPanel a = transposedPanelOf(tile.left + row + at * call.a_col, call.a_col, m, depth);
    if (int code = gemmLibrary().sgemm('N', copiesB ? 'N' : tile.b.transpose, m, n, depth, 1.0f, a.data,
                                       a.leading, b.data, b.leading, at > 0 ? 1.0f : tile.beta,
                                       tile.c + row * call.c_row + col, call.c_row))
      return code;
  }
  return 0;
}

int multiplyTransposed(const accum_gemm &call, const F32Tile &tile) {
  for (int64_t col = 0; col < tile.n; col += kPanelColumns)
    for (int64_t at = 0; at < call.k; at += kTransposedDepth)
      if (int code = multiplyTransposed(call, tile, col, std::min(kPanelColumns, tile.n - col), at,
                                        std::min(kTransposedDepth, call.k - at)))
        return code;
  return 0;
}

int gemmF32Tile(const accum_gemm &call, const GemmPoint &point, float beta, int64_t row, int64_t m,
                int64_t col, int64_t n) {
  F32Tile tile{operandOf(call.a_row, call.a_col, m, call.k),
               operandOf(call.b_row, call.b_col, call.k, n),
               static_cast<const float *>(point.a) + row * call.a_row,
               static_cast<const float *>(point.b) + col * call.b_col,
               point.bias ? static_cast<const float *>(point.bias) + col : nullptr,
               static_cast<float *>(point.c) + row * call.c_row + col,
               m,
               n,
               beta};
  if (transposesA(call, tile))
    return multiplyTransposed(call, tile);
  return usesPanels(tile.a, tile.b, m) ? multiplyPanels(call, tile) : multiplyInPlace(call, tile);
}

Error refuse(const std::string &why) { return {kExitRunFailed, "a GEMM was refused: " + why, "gemm"}; }

bool isBf16(const accum_gemm &call) { return call.dtype == ACCUM_BF16 || hasWideB(call); }

bool isKnown(const accum_gemm &call) {
  if (isBf16(call))
    return call.c_dtype == ACCUM_BF16 || call.c_dtype == ACCUM_F32;
  return call.dtype == call.c_dtype && (call.dtype == ACCUM_F32 || call.dtype == ACCUM_F64);
}

/// Which loop computes a tile.
enum class TileLoop { F32, F64, Native, Packed };

/// After `check`, which has loaded the library.
TileLoop tileLoopOf(const accum_gemm &call, ShortProducts products) {
  if (call.dtype == ACCUM_F64)
    return TileLoop::F64;
  if (call.dtype == ACCUM_F32)
    return products == ShortProducts::Tf32 ? TileLoop::Packed : TileLoop::F32;
  bool isNative =
      products == ShortProducts::Native || (products == ShortProducts::Fastest && bf16Products().native);
  return isNative && isTakeable(call.a_row, call.a_col, call.m, call.k) &&
                 isTakeable(call.b_row, call.b_col, call.k, call.n)
             ? TileLoop::Native
             : TileLoop::Packed;
}

int gemmTile(TileLoop loop, const accum_gemm &call, const GemmPoint &point, float beta,
             const GemmTile &tile) {
  switch (loop) {
  case TileLoop::F64:
    gemmF64Tile(call, point, beta, tile.row, tile.m, tile.col, tile.n);
    return 0;
  case TileLoop::F32:
    return gemmF32Tile(call, point, beta, tile.row, tile.m, tile.col, tile.n);
  case TileLoop::Native:
    return gemmBf16Tile(call, point, beta, tile, gemmLibrary().bf16Gemm);
  case TileLoop::Packed:
    return gemmPackedTile(call, point, beta, tile, gemmLibrary().sgemm);
  }
}

Status check(const accum_gemm &call, float beta, ShortProducts products) {
  if (!isKnown(call))
    return refuse("the host multiplies f32 to f32, bf16 to bf16 or f32, and f64 to f64");
  if (call.bias && beta != 0)
    return refuse("a bias needs beta = 0");
  if (call.m <= 0 || call.n <= 0 || call.k <= 0 || call.batch_dims < 0 ||
      call.batch_dims > ACCUM_GEMM_MAX_BATCH_DIMS)
    return refuse("m, n and k must be positive");
  for (int32_t d = 0; d < call.batch_dims; ++d)
    if (call.batch[d] > 1 && call.c_batch[d] == 0)
      return refuse("two points of the batch write the same C");
  if (call.dtype == ACCUM_F64)
    return {};
  if (Status status = loadGemmLibrary(); !status)
    return status;
  if (products == ShortProducts::Native && !gemmLibrary().bf16Gemm)
    return refuse(gemmLibraryVersion() + " has no products of bf16");
  if (isBf16(call) || products == ShortProducts::Tf32)
    return {};
  if (!isTakeable(call.a_row, call.a_col, call.m, call.k) ||
      !isTakeable(call.b_row, call.b_col, call.k, call.n))
    return refuse("an operand has no unit stride");
  return {};
}

GemmTiling tilingOf(const accum_gemm &call) {
  int64_t points = 1;
  for (int32_t d = 0; d < call.batch_dims; ++d)
    points *= call.batch[d];
  GemmTiling tiling = runtime::tilingOf(points, call.m, call.n, call.k, isBf16(call));
  if (int64_t rows = ceilDiv(call.m, kBf16TileM); hasWideB(call) && tiling.rows > rows) {
    // As many tiles, cut along n: those below each other would round the same columns.
    int64_t columns = ceilDiv(tiling.perPoint(), rows);
    tiling.tileM = ceilDiv(ceilDiv(call.m, rows), 16) * 16;
    tiling.tileN = ceilDiv(ceilDiv(call.n, columns), 16) * 16;
    tiling.rows = ceilDiv(call.m, tiling.tileM);
    tiling.columns = ceilDiv(call.n, tiling.tileN);
  }
  return tiling;
}

} // namespace

GemmPoint pointOf(const accum_gemm &call, int64_t index) {
  int64_t a = 0, b = 0, c = 0;
  for (int32_t d = call.batch_dims - 1; d >= 0; --d) {
    int64_t at = index % call.batch[d];
    index /= call.batch[d];
    a += at * call.a_batch[d];
    b += at * call.b_batch[d];
    c += at * call.c_batch[d];
  }
  auto sizeOf = [](int32_t dtype) { return int64_t(bytesOf(DType(dtype))); };
  bool wide = hasWideB(call);
  return {static_cast<const char *>(call.a) + a * sizeOf(wide ? ACCUM_BF16 : call.dtype),
          static_cast<const char *>(call.b) + b * sizeOf(wide ? ACCUM_F32 : call.dtype), call.bias,
          static_cast<char *>(call.c) + c * sizeOf(call.c_dtype)};
}

void gemmOnThisThread(const accum_gemm &call, float beta) {
  GemmPoint point{call.a, call.b, call.bias, call.c};
  if (call.dtype == ACCUM_F64)
    gemmF64Tile(call, point, beta, 0, call.m, 0, call.n);
  else
    gemmF32Tile(call, point, beta, 0, call.m, 0, call.n);
}

Status gemm(const accum_gemm &call, float beta, ShortProducts products) {
  if (Status status = check(call, beta, products); !status)
    return status;
  TileLoop loop = tileLoopOf(call, products);
  GemmTiling tiling = tilingOf(call);
  int64_t perPoint = tiling.perPoint(), tiles = tiling.points * perPoint;
  std::atomic<int> failure{0};
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      GemmPoint point = pointOf(call, t / perPoint);
      int64_t row = t % perPoint / tiling.columns * tiling.tileM, col = t % tiling.columns * tiling.tileN;
      int64_t m = std::min(tiling.tileM, call.m - row), n = std::min(tiling.tileN, call.n - col);
      if (int code = gemmTile(loop, call, point, beta, {row, m, col, n}))
        failure = code;
    }
  };
  parallelFor(tiles, tiling.pieces(), run);
  return failure ? Status(refuse("oneDNN returned " + std::to_string(failure))) : Status();
}

} // namespace accum::runtime
