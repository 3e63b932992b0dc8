// SPDX-License-Identifier: Apache-2.0
// Operands become panels of f32, piece by piece along k, that sgemm multiplies: products of bf16 and of tf32
// are exact in f32, so what differs from a tensor core is the order of the sums.
#include "runtime/host/GemmPacked.h"
#include "runtime/files/ShortFloats.h"
#include <algorithm>
#include <vector>

namespace accum::runtime {
namespace {

constexpr int64_t kDepth = kPanelDepthOfShort;

/// Of one thread, made at its first product.
struct Panels {
  std::vector<float> a = std::vector<float>(kPanelA), b = std::vector<float>(kPanelB),
                     c = std::vector<float>(kPanelC);
};

constexpr int64_t kSquare = 16;

/// Columns that lie as rows do, `stride` apart: by squares, so that what is read and what is written are
/// whole lines of a cache. Element by element the rows of a panel, a power of two apart, would push each
/// other out.
template <typename T, float (*widen)(T)>
void packTransposed(const T *from, int64_t stride, int64_t rows, int64_t cols, float *panel) {
  float square[kSquare][kSquare];
  for (int64_t j = 0; j < cols; j += kSquare)
    for (int64_t i = 0; i < rows; i += kSquare) {
      int64_t width = std::min(kSquare, cols - j), height = std::min(kSquare, rows - i);
      for (int64_t y = 0; y < width; ++y)
        for (int64_t x = 0; x < height; ++x)
          square[y][x] = widen(from[(j + y) * stride + i + x]);
      for (int64_t x = 0; x < height; ++x)
        for (int64_t y = 0; y < width; ++y)
          panel[(i + x) * cols + j + y] = square[y][x];
    }
}

template <typename T, float (*widen)(T)>
void packAs(const void *matrix, int64_t rowStride, int64_t colStride, int64_t rows, int64_t cols,
            float *panel) {
  const T *from = static_cast<const T *>(matrix);
  if (colStride == 1) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        panel[i * cols + j] = widen(from[i * rowStride + j]);
    return;
  }
  if (rowStride == 1) {
    packTransposed<T, widen>(from, colStride, rows, cols, panel);
    return;
  }
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = 0; i < rows; ++i)
      panel[i * cols + j] = widen(from[i * rowStride + j * colStride]);
}

float throughBf16(float x) { return fromBf16(toBf16(x)); }

/// rows x cols of a matrix, row by row, widened or rounded.
void pack(int32_t dtype, const void *matrix, int64_t at, int64_t rowStride, int64_t colStride, int64_t rows,
          int64_t cols, float *panel) {
  if (dtype == ACCUM_BF16)
    packAs<uint16_t, fromBf16>(static_cast<const uint16_t *>(matrix) + at, rowStride, colStride, rows, cols,
                               panel);
  else if (dtype == (ACCUM_BF16 | ACCUM_GEMM_WIDE_B))
    packAs<float, throughBf16>(static_cast<const float *>(matrix) + at, rowStride, colStride, rows, cols,
                               panel);
  else
    packAs<float, toTf32>(static_cast<const float *>(matrix) + at, rowStride, colStride, rows, cols, panel);
}

float biasAt(const accum_gemm &call, const GemmPoint &point, int64_t column) {
  return call.c_dtype == ACCUM_BF16 ? fromBf16(static_cast<const uint16_t *>(point.bias)[column])
                                    : static_cast<const float *>(point.bias)[column];
}

} // namespace

int gemmPackedTile(const accum_gemm &call, const GemmPoint &point, float beta, const GemmTile &tile,
                   SgemmFn sgemm) {
  thread_local Panels panels;
  bool bf16 = call.c_dtype == ACCUM_BF16;
  float *result = bf16 ? panels.c.data() : static_cast<float *>(point.c) + tile.row * call.c_row + tile.col;
  int64_t leading = bf16 ? tile.n : call.c_row;
  if (point.bias) { // what the products are added to
    for (int64_t i = 0; i < tile.m; ++i)
      for (int64_t j = 0; j < tile.n; ++j)
        result[i * leading + j] = biasAt(call, point, tile.col + j);
  }
  for (int64_t k = 0; k < call.k; k += kDepth) {
    int64_t depth = std::min(kDepth, call.k - k);
    pack(hasWideB(call) ? ACCUM_BF16 : call.dtype, point.a, tile.row * call.a_row + k * call.a_col,
         call.a_row, call.a_col, tile.m, depth, panels.a.data());
    pack(call.dtype, point.b, k * call.b_row + tile.col * call.b_col, call.b_row, call.b_col, depth, tile.n,
         panels.b.data());
    float keep = k > 0 || point.bias ? 1.0f : bf16 ? 0.0f : beta;
    if (int code = sgemm('N', 'N', tile.m, tile.n, depth, 1.0f, panels.a.data(), depth, panels.b.data(),
                         tile.n, keep, result, leading))
      return code;
  }
  if (!bf16)
    return 0;
  for (int64_t i = 0; i < tile.m; ++i)
    for (int64_t j = 0; j < tile.n; ++j) {
      uint16_t &c = static_cast<uint16_t *>(point.c)[(tile.row + i) * call.c_row + tile.col + j];
      float sum = result[i * leading + j];
      c = toBf16(beta != 0 ? sum + beta * fromBf16(c) : sum);
    }
  return 0;
}

} // namespace accum::runtime
