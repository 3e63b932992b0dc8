// SPDX-License-Identifier: Apache-2.0
// Copies and transposes by squares of 16, in 64 instructions for 256 elements.
#include "runtime/host/GemmPanel.h"
#include "runtime/host/PanelMemory.h"
#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace accum::runtime {
namespace {

constexpr int64_t kLanes = 16;

#if defined(__x86_64__)
#define ACCUM_VECTORS [[gnu::target("avx512f")]]

ACCUM_VECTORS __mmask16 maskOf(int64_t count) {
  return __mmask16((1u << std::clamp<int64_t>(count, 0, kLanes)) - 1);
}

ACCUM_VECTORS void copyRows(const float *from, int64_t stride, int64_t rows, int64_t columns, float *to,
                            int64_t leading) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; j += kLanes)
      _mm512_store_ps(to + i * leading + j,
                      _mm512_maskz_loadu_ps(maskOf(columns - j), from + i * stride + j));
}

ACCUM_VECTORS __m512 lowPairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

ACCUM_VECTORS __m512 highPairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

/// In each quarter of four rows the square of 4 x 4 is transposed: x[i + q] is then columns q, q + 4, q + 8
/// and q + 12 of rows i to i + 3.
ACCUM_VECTORS void transposeQuarters(__m512 (&x)[kLanes]) {
#pragma unroll
  for (int i = 0; i < kLanes; i += 4) {
    __m512 low01 = _mm512_unpacklo_ps(x[i], x[i + 1]), high01 = _mm512_unpackhi_ps(x[i], x[i + 1]);
    __m512 low23 = _mm512_unpacklo_ps(x[i + 2], x[i + 3]), high23 = _mm512_unpackhi_ps(x[i + 2], x[i + 3]);
    x[i] = lowPairs(low01, low23);
    x[i + 1] = highPairs(low01, low23);
    x[i + 2] = lowPairs(high01, high23);
    x[i + 3] = highPairs(high01, high23);
  }
}

/// Column `quarter * 4 + q` of all rows is gathered from its four quarters.
ACCUM_VECTORS void gatherColumns(__m512 (&x)[kLanes]) {
  constexpr int kEven = 0x88, kOdd = 0xdd;
  __m512 y[kLanes];
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    __m512 evenTop = _mm512_shuffle_f32x4(x[q], x[q + 4], kEven),
           oddTop = _mm512_shuffle_f32x4(x[q], x[q + 4], kOdd);
    __m512 evenRest = _mm512_shuffle_f32x4(x[q + 8], x[q + 12], kEven);
    __m512 oddRest = _mm512_shuffle_f32x4(x[q + 8], x[q + 12], kOdd);
    y[q] = _mm512_shuffle_f32x4(evenTop, evenRest, kEven);
    y[q + 4] = _mm512_shuffle_f32x4(oddTop, oddRest, kEven);
    y[q + 8] = _mm512_shuffle_f32x4(evenTop, evenRest, kOdd);
    y[q + 12] = _mm512_shuffle_f32x4(oddTop, oddRest, kOdd);
  }
  std::copy(y, y + kLanes, x);
}

/// Up to 16 rows of up to 16 elements become columns.
ACCUM_VECTORS void transposeSquare(const float *from, int64_t stride, int64_t rows, int64_t columns,
                                   float *to, int64_t leading) {
  __m512 x[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i)
    x[i] =
        _mm512_maskz_loadu_ps(i < rows ? maskOf(columns) : __mmask16(0), i < rows ? from + i * stride : from);
  transposeQuarters(x);
  gatherColumns(x);
#pragma unroll
  for (int i = 0; i < kLanes; ++i)
    if (i < columns)
      _mm512_store_ps(to + i * leading, x[i]);
}

/// from: columns x rows. All of a row before the next one: it is read as it lies.
ACCUM_VECTORS void transposeRows(const float *from, int64_t stride, int64_t rows, int64_t columns, float *to,
                                 int64_t leading) {
  for (int64_t j = 0; j < columns; j += kLanes)
    for (int64_t i = 0; i < rows; i += kLanes)
      transposeSquare(from + j * stride + i, stride, std::min(kLanes, columns - j),
                      std::min(kLanes, rows - i), to + i * leading + j, leading);
}
#endif

} // namespace

#if defined(__x86_64__)
bool transposesPanels() { return __builtin_cpu_supports("avx512f") != 0; }
#else
bool transposesPanels() { return false; }
#endif

GemmPanel panelOf(const float *b, int64_t row, int64_t col, int64_t depth, int64_t columns) {
  static thread_local PanelMemory memory(kPanelDepth * (kPanelColumns + kLanes));
  float *panel = memory.floats();
  int64_t leading = leadingOf(columns, kLanes);
#if defined(__x86_64__)
  if (transposesPanels()) {
    if (col == 1)
      copyRows(b, row, depth, columns, panel, leading);
    else
      transposeRows(b, col, depth, columns, panel, leading);
    return {panel, leading};
  }
#endif
  for (int64_t i = 0; i < depth; ++i)
    std::copy_n(b + i * row, columns, panel + i * leading);
  return {panel, leading};
}

} // namespace accum::runtime
