// SPDX-License-Identifier: Apache-2.0
// Rows in vectors of 64 bytes. The bodies are written once and compiled for the instruction sets that matter.
#include "runtime/host/AttentionRows.h"
#include <cmath>
#include <cstring>
#include <limits>

#define ACCUM_INLINE [[gnu::always_inline]] inline

namespace accum::runtime {
namespace {

typedef float F16 __attribute__((vector_size(64)));
typedef int32_t I16 __attribute__((vector_size(64)));
typedef double F8 __attribute__((vector_size(64)));

template <typename T> struct VectorOf;
template <> struct VectorOf<float> {
  using Type = F16;
};
template <> struct VectorOf<double> {
  using Type = F8;
};
template <typename T> using Vector = typename VectorOf<T>::Type;
template <typename T> constexpr int64_t kLanes = 64 / int64_t(sizeof(T));

template <typename T> ACCUM_INLINE Vector<T> load(const T *from) {
  Vector<T> x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

/// The first `count` lanes; others are `rest`.
template <typename T> ACCUM_INLINE Vector<T> loadSome(const T *from, int64_t count, T rest) {
  T lanes[kLanes<T>];
  for (int64_t i = 0; i < kLanes<T>; ++i)
    lanes[i] = i < count ? from[i] : rest;
  return load(lanes);
}

template <typename T> ACCUM_INLINE void store(T *to, Vector<T> x) { std::memcpy(to, &x, sizeof x); }

template <typename T> ACCUM_INLINE void storeSome(T *to, int64_t count, Vector<T> x) {
  std::memcpy(to, &x, size_t(count) * sizeof(T));
}

/// Calls body(offset, count) with whole vectors, then with what is left.
template <typename T, typename Body> ACCUM_INLINE void forVectors(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>)
    body(i, kLanes<T>);
  if (i < n)
    body(i, n - i);
}

template <typename T> ACCUM_INLINE Vector<T> loadUpTo(const T *from, int64_t count, T rest) {
  return count == kLanes<T> ? load(from) : loadSome(from, count, rest);
}

template <typename T> ACCUM_INLINE void storeUpTo(T *to, int64_t count, Vector<T> x) {
  if (count == kLanes<T>)
    store<T>(to, x);
  else
    storeSome<T>(to, count, x);
}

template <typename T> ACCUM_INLINE T sumOf(Vector<T> x) {
  T total = 0;
  for (int64_t i = 0; i < kLanes<T>; ++i)
    total += x[i];
  return total;
}

/// 2^n * e^r with |r| <= ln 2 / 2; n by adding 1.5 * 2^23, which leaves it in the low bits. Polynomial of
/// degree 6 (minimax on that interval, relative error 2e-9 before rounding).
ACCUM_INLINE F16 exponential(F16 x) {
  constexpr float lowest = -87.33654f, magic = 12582912.0f;
  F16 y = x < lowest ? F16{} + lowest : x;
  F16 shifted = y * 1.44269504f + magic;
  I16 bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  F16 n = shifted - magic;
  F16 r = y - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  F16 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  I16 exponent = (bits + 127) << 23;
  F16 power;
  std::memcpy(&power, &exponent, sizeof power);
  return x < lowest ? F16{} : p * power;
}

/// The reference's: what the C library gives.
ACCUM_INLINE F8 exponential(F8 x) {
  for (int64_t i = 0; i < kLanes<double>; ++i)
    x[i] = std::exp(x[i]);
  return x;
}

template <typename T> ACCUM_INLINE void scaleBody(T *x, int64_t n, T factor) {
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    storeUpTo<T>(x + i, count, loadUpTo(x + i, count, T(0)) * factor);
  });
}

template <typename T> ACCUM_INLINE void scaleAddBody(T *x, int64_t n, T factor, const T *addend) {
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    storeUpTo<T>(x + i, count, loadUpTo(x + i, count, T(0)) * factor + loadUpTo(addend + i, count, T(0)));
  });
}

template <typename T> ACCUM_INLINE void hideBody(T *x, int64_t n, const uint8_t *shown, T otherwise) {
  for (int64_t i = 0; i < n; ++i)
    x[i] = shown[i] ? x[i] : otherwise;
}

template <typename T> ACCUM_INLINE T topBody(const T *x, int64_t n) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  Vector<T> top = Vector<T>{} + none;
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    Vector<T> each = loadUpTo(x + i, count, none);
    top = each > top ? each : top;
  });
  T result = none;
  for (int64_t i = 0; i < kLanes<T>; ++i)
    result = top[i] > result ? top[i] : result;
  return result;
}

template <typename T> ACCUM_INLINE T exponentialsBody(T *x, int64_t n, T shift) {
  Vector<T> sum = {};
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    Vector<T> each = exponential(loadUpTo(x + i, count, -std::numeric_limits<T>::infinity()) - shift);
    storeUpTo<T>(x + i, count, each);
    sum += each;
  });
  return sumOf<T>(sum);
}

template <typename T> ACCUM_INLINE T dotBody(const T *x, const T *y, int64_t n) {
  Vector<T> sum = {};
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    sum += loadUpTo(x + i, count, T(0)) * loadUpTo(y + i, count, T(0));
  });
  return sumOf<T>(sum);
}

template <typename T>
ACCUM_INLINE void scoreCotangentsBody(T *x, int64_t n, const T *weights, T delta, T factor) {
  forVectors<T>(n, [&](int64_t i, int64_t count) __attribute__((always_inline)) {
    storeUpTo<T>(x + i, count,
                 loadUpTo(weights + i, count, T(0)) * (loadUpTo(x + i, count, T(0)) - delta) * factor);
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): of types and attributes
#define ACCUM_ROW_FUNCTIONS(NAME, T, TARGET)                                                                 \
  TARGET void NAME##Scale(T *x, int64_t n, T factor) { scaleBody(x, n, factor); }                            \
  TARGET void NAME##ScaleAdd(T *x, int64_t n, T factor, const T *addend) {                                   \
    scaleAddBody(x, n, factor, addend);                                                                      \
  }                                                                                                          \
  TARGET void NAME##Hide(T *x, int64_t n, const uint8_t *shown, T otherwise) {                               \
    hideBody(x, n, shown, otherwise);                                                                        \
  }                                                                                                          \
  TARGET T NAME##Top(const T *x, int64_t n) { return topBody(x, n); }                                        \
  TARGET T NAME##Exponentials(T *x, int64_t n, T shift) { return exponentialsBody(x, n, shift); }            \
  TARGET T NAME##Dot(const T *x, const T *y, int64_t n) { return dotBody(x, y, n); }                         \
  TARGET void NAME##ScoreCotangents(T *x, int64_t n, const T *weights, T delta, T factor) {                  \
    scoreCotangentsBody(x, n, weights, delta, factor);                                                       \
  }                                                                                                          \
  const RowFunctions<T> NAME = {NAME##Scale,        NAME##ScaleAdd, NAME##Hide,           NAME##Top,         \
                                NAME##Exponentials, NAME##Dot,      NAME##ScoreCotangents};
// NOLINTEND(bugprone-macro-parentheses)

ACCUM_ROW_FUNCTIONS(plainF32, float, )
ACCUM_ROW_FUNCTIONS(plainF64, double, )
#if defined(__x86_64__)
ACCUM_ROW_FUNCTIONS(avx2F32, float, __attribute__((target("avx2"))))
ACCUM_ROW_FUNCTIONS(avx512F32, float, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

} // namespace

template <> const RowFunctions<double> &rowFunctions<double>() { return plainF64; }

template <> const RowFunctions<float> &rowFunctions<float>() {
#if defined(__x86_64__)
  static const RowFunctions<float> &best =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? avx512F32
      : __builtin_cpu_supports("avx2")                                         ? avx2F32
                                                                               : plainF32;
  return best;
#else
  return plainF32;
#endif
}

} // namespace accum::runtime
