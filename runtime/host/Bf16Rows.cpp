// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: the instructions that round to bf16 take subnormal numbers for 0.
#include "runtime/host/Bf16Rows.h"
#include "runtime/files/ShortFloats.h"

namespace accum::runtime {
namespace {

[[gnu::always_inline]] inline void widenBody(const uint16_t *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = fromBf16(from[i]);
}

[[gnu::always_inline]] inline void roundBody(const float *from, int64_t count, uint16_t *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = toBf16(from[i]);
}

struct Bf16Rows {
  void (*widen)(const uint16_t *, int64_t, float *);
  void (*round)(const float *, int64_t, uint16_t *);
};

// NOLINTBEGIN(bugprone-macro-parentheses): of attributes
#define ACCUM_BF16_ROWS(NAME, TARGET)                                                                        \
  TARGET void NAME##Widen(const uint16_t *from, int64_t count, float *to) { widenBody(from, count, to); }    \
  TARGET void NAME##Round(const float *from, int64_t count, uint16_t *to) { roundBody(from, count, to); }    \
  constexpr Bf16Rows NAME = {NAME##Widen, NAME##Round};
// NOLINTEND(bugprone-macro-parentheses)

ACCUM_BF16_ROWS(plain, )
#if defined(__x86_64__)
ACCUM_BF16_ROWS(avx2, __attribute__((target("avx2"))))
ACCUM_BF16_ROWS(avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

const Bf16Rows &best() {
#if defined(__x86_64__)
  static const Bf16Rows &best = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                                    ? avx512
                                : __builtin_cpu_supports("avx2") ? avx2
                                                                 : plain;
  return best;
#else
  return plain;
#endif
}

} // namespace

void widenRow(const uint16_t *from, int64_t count, float *to) { best().widen(from, count, to); }

void roundRow(const float *from, int64_t count, uint16_t *to) { best().round(from, count, to); }

} // namespace accum::runtime
