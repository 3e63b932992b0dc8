// SPDX-License-Identifier: Apache-2.0
// Transposes by squares of 8, in 24 instructions for 64 elements.
#include "runtime/host/GemmTransposed.h"
#include "runtime/host/PanelMemory.h"
#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace accum::runtime {
namespace {

constexpr int64_t kLanes = 8;

void transposeOneByOne(const float *from, int64_t stride, int64_t rows, int64_t columns, float *to,
                       int64_t leading) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      to[i * leading + j] = from[j * stride + i];
}

#if defined(__x86_64__)
#define ACCUM_VECTORS [[gnu::target("avx2")]]

ACCUM_VECTORS __m256 lowPairs(__m256 a, __m256 b) {
  return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

ACCUM_VECTORS __m256 highPairs(__m256 a, __m256 b) {
  return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
}

/// 8 columns, `stride` apart, become rows. In each half of four columns the squares of 4 x 4 are transposed,
/// and the halves put together.
ACCUM_VECTORS void transposeSquare(const float *from, int64_t stride, float *to, int64_t leading) {
  constexpr int kLowHalves = 0x20, kHighHalves = 0x31;
  __m256 x[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i)
    x[i] = _mm256_loadu_ps(from + i * stride);
#pragma unroll
  for (int i = 0; i < kLanes; i += 4) {
    __m256 low01 = _mm256_unpacklo_ps(x[i], x[i + 1]), high01 = _mm256_unpackhi_ps(x[i], x[i + 1]);
    __m256 low23 = _mm256_unpacklo_ps(x[i + 2], x[i + 3]), high23 = _mm256_unpackhi_ps(x[i + 2], x[i + 3]);
    x[i] = lowPairs(low01, low23);
    x[i + 1] = highPairs(low01, low23);
    x[i + 2] = lowPairs(high01, high23);
    x[i + 3] = highPairs(high01, high23);
  }
#pragma unroll
  for (int i = 0; i < kLanes / 2; ++i) {
    _mm256_storeu_ps(to + i * leading, _mm256_permute2f128_ps(x[i], x[i + 4], kLowHalves));
    _mm256_storeu_ps(to + (i + 4) * leading, _mm256_permute2f128_ps(x[i], x[i + 4], kHighHalves));
  }
}
#else
void transposeSquare(const float *from, int64_t stride, float *to, int64_t leading) {
  transposeOneByOne(from, stride, kLanes, kLanes, to, leading);
}
#endif

} // namespace

#if defined(__x86_64__)
bool transposesPanelsOfA() { return __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512f"); }
#else
bool transposesPanelsOfA() { return false; }
#endif

GemmPanel transposedPanelOf(const float *a, int64_t col, int64_t rows, int64_t depth) {
  static thread_local PanelMemory memory(kTransposedRows * (kTransposedDepth + kLanes));
  float *panel = memory.floats();
  int64_t leading = leadingOf(depth, kLanes);
  for (int64_t j = 0; j < depth; j += kLanes) // all of a column before the next one: it is read as it lies
    for (int64_t i = 0; i < rows; i += kLanes) {
      const float *from = a + j * col + i;
      float *to = panel + i * leading + j;
      if (int64_t m = rows - i, k = depth - j; m >= kLanes && k >= kLanes)
        transposeSquare(from, col, to, leading);
      else
        transposeOneByOne(from, col, std::min(m, kLanes), std::min(k, kLanes), to, leading);
    }
  return {panel, leading};
}

} // namespace accum::runtime
