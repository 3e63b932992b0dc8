// SPDX-License-Identifier: Apache-2.0
// A result in bf16 is summed in a strip of f32 that stays in the second cache. An operand in f32 is rounded
// to a panel, piece by piece along k, while the whole tile is summed. The instructions take subnormal
// operands and sums for 0.
#include "runtime/host/GemmBf16.h"
#include "runtime/files/ShortFloats.h"
#include "runtime/host/Bf16Rows.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace accum::runtime {
namespace {

/// Rows that are summed before they are rounded, or get their bias: 800 KB of f32.
constexpr int64_t kStripRows = 256;

/// Not touched before it is needed: a strip, or a tile beside panels.
float *sumsOfThisThread() {
  static thread_local auto sums = std::make_unique_for_overwrite<float[]>(kBf16TileM * kBf16TileN);
  return sums.get();
}

/// Numbers in a line of a cache, and lines of B that are fetched before they are rounded.
constexpr int64_t kLine = 16, kLinesAhead = 4;

/// k from `at` on of the columns of a tile, rounded; lines lie as in B.
struct RoundedPanel {
  const uint16_t *data;
  int64_t leading;
};

RoundedPanel roundedPanelOf(const float *b, int64_t row, int64_t col, int64_t depth, int64_t columns) {
  static thread_local auto memory = std::make_unique_for_overwrite<uint16_t[]>(kRoundedDepth * kBf16TileN);
  int64_t lines = col == 1 ? depth : columns, length = col == 1 ? columns : depth,
          stride = std::max(row, col);
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t j = 0; i + kLinesAhead < lines && j < length; j += kLine)
      __builtin_prefetch(b + (i + kLinesAhead) * stride + j);
    roundRow(b + i * stride, length, memory.get() + i * length);
  }
  return {memory.get(), length};
}

/// `count` sums of a row get their bias, and what was there before where `beta` is not 0.
void finishRow(const accum_gemm &call, const GemmPoint &point, float beta, int64_t row, int64_t col,
               int64_t count, float *sums) {
  bool bf16 = call.c_dtype == ACCUM_BF16;
  for (int64_t j = 0; point.bias && j < count; ++j)
    sums[j] += bf16 ? fromBf16(static_cast<const uint16_t *>(point.bias)[col + j])
                    : static_cast<const float *>(point.bias)[col + j];
  if (!bf16)
    return;
  uint16_t *c = static_cast<uint16_t *>(point.c) + row * call.c_row + col;
  for (int64_t j = 0; beta != 0 && j < count; ++j)
    sums[j] += beta * fromBf16(c[j]);
  roundRow(sums, count, c);
}

} // namespace

/// The same where B is f32.
static int gemmWideTile(const accum_gemm &call, const GemmPoint &point, float beta, const GemmTile &tile,
                        Bf16GemmFn multiply) {
  bool bf16 = call.c_dtype == ACCUM_BF16;
  GemmOperand a = operandOf(call.a_row, call.a_col, tile.m, call.k);
  const uint16_t *left = static_cast<const uint16_t *>(point.a) + tile.row * call.a_row;
  const float *right = static_cast<const float *>(point.b) + tile.col * call.b_col;
  float *sums = bf16 ? sumsOfThisThread() : static_cast<float *>(point.c) + tile.row * call.c_row + tile.col;
  int64_t leading = bf16 ? tile.n : call.c_row, pieces = ceilDiv(call.k, kRoundedDepth);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t at = call.k * piece / pieces, depth = call.k * (piece + 1) / pieces - at;
    RoundedPanel panel = roundedPanelOf(right + at * call.b_row, call.b_row, call.b_col, depth, tile.n);
    if (int code = multiply(a.transpose, call.b_col == 1 ? 'N' : 'T', tile.m, tile.n, depth, 1.0f,
                            left + at * call.a_col, a.leading, panel.data, panel.leading,
                            piece > 0 ? 1.0f
                            : bf16    ? 0.0f
                                      : beta,
                            sums, leading))
      return code;
  }
  for (int64_t i = 0; (bf16 || point.bias) && i < tile.m; ++i)
    finishRow(call, point, beta, tile.row + i, tile.col, tile.n, sums + i * leading);
  return 0;
}

int gemmBf16Tile(const accum_gemm &call, const GemmPoint &point, float beta, const GemmTile &tile,
                 Bf16GemmFn multiply) {
  if (hasWideB(call))
    return gemmWideTile(call, point, beta, tile, multiply);
  bool bf16 = call.c_dtype == ACCUM_BF16;
  GemmOperand a = operandOf(call.a_row, call.a_col, tile.m, call.k),
              b = operandOf(call.b_row, call.b_col, call.k, tile.n);
  const uint16_t *left = static_cast<const uint16_t *>(point.a),
                 *right = static_cast<const uint16_t *>(point.b) + tile.col * call.b_col;
  int64_t rows = bf16 || point.bias ? kStripRows : tile.m, end = tile.row + tile.m;
  for (int64_t row = tile.row; row < end; row += rows) {
    int64_t m = std::min(rows, end - row), leading = bf16 ? tile.n : call.c_row;
    float *sums = bf16 ? sumsOfThisThread() : static_cast<float *>(point.c) + row * call.c_row + tile.col;
    if (int code = multiply(a.transpose, b.transpose, m, tile.n, call.k, 1.0f, left + row * call.a_row,
                            a.leading, right, b.leading, bf16 ? 0.0f : beta, sums, leading))
      return code;
    for (int64_t i = 0; (bf16 || point.bias) && i < m; ++i)
      finishRow(call, point, beta, row + i, tile.col, tile.n, sums + i * leading);
  }
  return 0;
}

namespace {

/// A native product has to be so much faster: the choice is to be the same in every run on one machine.
constexpr double kWorthwhile = 1.25;

/// Seconds of the calling thread, so that others do not count.
double threadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

template <typename Body> double secondsOf(Body body) {
  double begin = threadSeconds();
  body();
  return threadSeconds() - begin;
}

/// Of 256 x 256 x 256, one thread, the fastest of a few turns.
double measureGain(const GemmLibrary &library) {
  constexpr int64_t kSize = 256;
  constexpr int kTurns = 12;
  constexpr uint16_t kOne = 0x3f80;
  std::vector<uint16_t> a(kSize * kSize, kOne), b(kSize * kSize, kOne), c(kSize * kSize);
  accum_gemm call = {};
  call.dtype = call.c_dtype = ACCUM_BF16;
  call.m = call.n = call.k = call.a_row = call.b_row = call.c_row = kSize;
  call.a_col = call.b_col = 1;
  GemmPoint point{a.data(), b.data(), nullptr, c.data()};
  GemmTile tile{0, kSize, 0, kSize};
  double native = std::numeric_limits<double>::infinity(), widened = native;
  int code = 0;
  parallelFor(1, 1, [&](int64_t, int64_t) { // as one piece: the library starts no threads in it
    for (int turn = 0; turn < kTurns && !code; ++turn) {
      native =
          std::min(native, secondsOf([&] { code = gemmBf16Tile(call, point, 0, tile, library.bf16Gemm); }));
      widened = std::min(widened, secondsOf([&] { gemmPackedTile(call, point, 0, tile, library.sgemm); }));
    }
  });
  return code ? 0 : widened / native;
}

Bf16Products chooseProducts() {
  const GemmLibrary &library = gemmLibrary();
  if (!library.bf16Gemm)
    return {};
  const char *text = std::getenv("ACCUM_BF16_PRODUCTS");
  std::string_view asked = text ? text : "";
  if (asked == "widened")
    return {.asked = true};
  double gain = measureGain(library);
  bool native = gain > (asked == "native" ? 0 : kWorthwhile);
  return {.native = native, .asked = native && asked == "native", .gain = gain};
}

} // namespace

static Bf16Products &chosenProducts() {
  static Bf16Products chosen = chooseProducts();
  return chosen;
}

const Bf16Products &bf16Products() { return chosenProducts(); }

void widenBf16Products() { chosenProducts().native = false; }

} // namespace accum::runtime
