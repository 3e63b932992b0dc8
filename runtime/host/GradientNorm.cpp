// SPDX-License-Identifier: Apache-2.0
// Memory-bound: sixteen partial sums a piece, so that the loop vectorises without reassociation by the
// compiler, and no sum waits for itself. Written once, compiled for the instruction sets that matter; their
// bits are the same.
#include "runtime/host/GradientNorm.h"
#include "runtime/system/ThreadPool.h"

namespace accum::runtime {
namespace {

constexpr int64_t kPieces = 256;
constexpr int kLanes = 16;

template <typename T> [[gnu::always_inline]] inline double sumBody(const T *data, int64_t n) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane)
      lanes[lane] += double(data[i + lane]) * double(data[i + lane]);
  for (; i < n; ++i)
    lanes[0] += double(data[i]) * double(data[i]);
  double sum = 0;
  for (double lane : lanes)
    sum += lane;
  return sum;
}

template <typename T> using SumOfSquares = double (*)(const T *, int64_t);

template <typename T> double plainSum(const T *data, int64_t n) { return sumBody(data, n); }

#if defined(__x86_64__)
template <typename T> [[gnu::target("avx2")]] double avx2Sum(const T *data, int64_t n) {
  return sumBody(data, n);
}
template <typename T> [[gnu::target("avx512f")]] double avx512Sum(const T *data, int64_t n) {
  return sumBody(data, n);
}

template <typename T> SumOfSquares<T> bestSum() {
  return __builtin_cpu_supports("avx512f") ? avx512Sum<T>
         : __builtin_cpu_supports("avx2")  ? avx2Sum<T>
                                           : plainSum<T>;
}
#else
template <typename T> SumOfSquares<T> bestSum() { return plainSum<T>; }
#endif

template <typename T> double total(const T *data, int64_t n) {
  double sums[kPieces] = {};
  SumOfSquares<T> sumOfSquares = bestSum<T>();
  parallelFor(kPieces, kPieces, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      int64_t first = n * piece / kPieces, last = n * (piece + 1) / kPieces;
      sums[piece] = sumOfSquares(data + first, last - first);
    }
  });
  double sum = 0;
  for (double piece : sums)
    sum += piece;
  return sum;
}

} // namespace

double squaredNormOf(const void *data, uint64_t n, DType dtype) {
  return dtype == ACCUM_F64 ? total(static_cast<const double *>(data), int64_t(n))
                            : total(static_cast<const float *>(data), int64_t(n));
}

} // namespace accum::runtime
