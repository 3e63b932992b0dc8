// SPDX-License-Identifier: Apache-2.0
// bf16 and tf32: roundings against a search for the nearest number, products against plain loops in double,
// attention against the one in f32.
#include "runtime/files/ShortFloats.h"
#include "runtime/host/Attention.h"
#include "runtime/host/Gemm.h"
#include "runtime/system/ThreadPool.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime;

namespace {

using Bf16 = std::vector<uint16_t>;

/// The nearer of the two neighbours with `bits` fewer bits of mantissa; of equally near ones the even one, or
/// the one that is larger in magnitude.
float nearest(float value, int bits, bool toEven) {
  uint32_t word = std::bit_cast<uint32_t>(value), unit = uint32_t(1) << bits, low = word & ~(unit - 1);
  double below = std::bit_cast<float>(low), above = std::bit_cast<float>(low + unit);
  double toBelow = std::abs(value - below), toAbove = std::abs(above - value);
  bool tieUp = toEven ? (low >> bits & 1) : true;
  return float(toAbove < toBelow || (toAbove == toBelow && tieUp) ? above : below);
}

template <typename Fn> void forFloats(Fn fn) {
  std::mt19937 random(5);
  for (int i = 0; i < 200000; ++i)
    if (float value = std::bit_cast<float>(uint32_t(random())); std::abs(value) < 1e38f)
      fn(value);
  for (uint32_t tie : {0x3f808000u, 0x3f818000u, 0xbf808000u, 0x3f801000u, 0x3f803000u, 0x00008000u, 0u})
    fn(std::bit_cast<float>(tie));
}

Bf16 someBf16(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Bf16 values(count);
  for (uint16_t &value : values)
    value = toBf16(uniform(random));
  return values;
}

std::vector<float> widened(const Bf16 &bf16) {
  std::vector<float> values;
  for (uint16_t bf16 : bf16)
    values.push_back(fromBf16(bf16));
  return values;
}

/// Oracle: the compiler's own type.
TEST(ShortFloats, HalvesAreRoundedAsTheCompilerRoundsThem) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> magnitude(-30, 18);
  for (int i = 0; i < 300'000; ++i) {
    double value = std::exp2(magnitude(random)) * (i % 2 ? 1 : -1);
    if (i % 3 == 0) // a tie of f16, and what is just beside it
      value = double(static_cast<_Float16>(value)) * (1 + 0x1p-11) * (1 + (i % 5 - 2) * 0x1p-52);
    auto narrow = static_cast<float>(value);
    ASSERT_EQ(toHalf(narrow), std::bit_cast<uint16_t>(static_cast<_Float16>(narrow))) << narrow;
    ASSERT_EQ(toHalf(toOdd(value)), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
  EXPECT_EQ(toHalf(INFINITY), 0x7c00);
  EXPECT_EQ(toHalf(65519), 0x7bff);
  EXPECT_EQ(toHalf(65520), 0x7c00);
  EXPECT_TRUE(std::isnan(fromHalf(toHalf(NAN))));
  EXPECT_EQ(toOdd(1e300), std::bit_cast<float>(0x7f7fffff));
}

TEST(ShortFloats, EveryHalfIsWidenedExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float expected = std::bit_cast<_Float16>(uint16_t(bits)), value = fromHalf(uint16_t(bits));
    if (expected == expected)
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
    else
      ASSERT_TRUE(value != value) << bits;
  }
}

TEST(ShortFloats, RoundToTheNearest) {
  forFloats([](float value) {
    ASSERT_EQ(fromBf16(toBf16(value)), nearest(value, 16, true)) << value;
    ASSERT_EQ(toTf32(value), nearest(value, 13, false)) << value;
  });
  EXPECT_EQ(fromBf16(toBf16(3.4e38f)), INFINITY);
  EXPECT_EQ(toTf32(-INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(fromBf16(toBf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(toTf32(NAN)));
}

/// c = a * b + beta * c for row-major or turned operands.
struct Product {
  int64_t m, n, k;
  bool turnA, turnB;

  accum_gemm call(const void *a, const void *b, void *c, int32_t dtype, int32_t result) const {
    accum_gemm call = {};
    call.a = a, call.b = b, call.c = c;
    call.dtype = dtype, call.c_dtype = result;
    call.m = m, call.n = n, call.k = k;
    call.a_row = turnA ? 1 : k, call.a_col = turnA ? m : 1;
    call.b_row = turnB ? 1 : n, call.b_col = turnB ? k : 1;
    call.c_row = n;
    return call;
  }

  double expected(const std::vector<float> &a, const std::vector<float> &b, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t q = 0; q < k; ++q)
      sum += double(a[turnA ? q * m + i : i * k + q]) * double(b[turnB ? j * k + q : q * n + j]);
    return sum;
  }
};

constexpr int64_t kShapes[][3] = {{1, 1, 1}, {3, 5, 7}, {33, 70, 300}, {130, 400, 64}, {1030, 9, 20}};

template <typename Fn> void forProducts(Fn fn) {
  for (auto [m, n, k] : kShapes)
    for (int turn = 0; turn < 4; ++turn)
      fn(Product{m, n, k, bool(turn & 1), bool(turn & 2)});
}

TEST(ShortFloats, ProductsOfBf16EqualPlainLoops) {
  forProducts([](const Product &p) {
    Bf16 a = someBf16(p.m * p.k, 1), b = someBf16(p.k * p.n, 2), c(p.m * p.n, toBf16(0.5f));
    std::vector<float> wideA = widened(a), wideB = widened(b), sums(p.m * p.n, 0.5f), fresh(p.m * p.n, NAN);
    ASSERT_TRUE(gemm(p.call(a.data(), b.data(), sums.data(), ACCUM_BF16, ACCUM_F32), 1));
    ASSERT_TRUE(gemm(p.call(a.data(), b.data(), fresh.data(), ACCUM_BF16, ACCUM_F32), 0));
    ASSERT_TRUE(gemm(p.call(a.data(), b.data(), c.data(), ACCUM_BF16, ACCUM_BF16), 1));
    double tolerance = 2e-6 * std::sqrt(double(p.k));
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double expected = p.expected(wideA, wideB, i, j);
        ASSERT_NEAR(fresh[i * p.n + j], expected, tolerance);
        ASSERT_NEAR(sums[i * p.n + j], expected + 0.5, tolerance);
        // Rounded once: half a unit of 8 bits.
        ASSERT_NEAR(fromBf16(c[i * p.n + j]), expected + 0.5,
                    tolerance + std::ldexp(std::abs(expected + 0.5), -8));
      }
  });
}

TEST(ShortFloats, ProductsInTf32RoundTheirOperands) {
  forProducts([](const Product &p) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> a(p.m * p.k), b(p.k * p.n), c(p.m * p.n, NAN);
    for (auto *values : {&a, &b})
      for (float &value : *values)
        value = uniform(random);
    ASSERT_TRUE(gemm(p.call(a.data(), b.data(), c.data(), ACCUM_F32, ACCUM_F32), 0, ShortProducts::Tf32));
    for (auto *values : {&a, &b})
      for (float &value : *values)
        value = nearest(value, 13, false);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j)
        ASSERT_NEAR(c[i * p.n + j], p.expected(a, b, i, j), 2e-6 * std::sqrt(double(p.k)));
  });
}

TEST(ShortFloats, BitsDoNotDependOnThreads) {
  Product p{700, 500, 600, true, false};
  Bf16 a = someBf16(p.m * p.k, 1), b = someBf16(p.k * p.n, 2);
  std::vector<float> one(p.m * p.n), many(p.m * p.n);
  int threads = threadCount();
  setThreads(1);
  ASSERT_TRUE(gemm(p.call(a.data(), b.data(), one.data(), ACCUM_BF16, ACCUM_F32), 0));
  setThreads(7);
  ASSERT_TRUE(gemm(p.call(a.data(), b.data(), many.data(), ACCUM_BF16, ACCUM_F32), 0));
  setThreads(threads);
  EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0);
}

/// An attention whose operands lie in one array of rows: q, k, v, y, dy, dq, dk, dv.
struct Attending {
  static constexpr int64_t kBatch = 2, kHeads = 4, kGroups = 2, kRows = 70, kFeatures = 24;
  static constexpr int64_t kRow = kHeads * kFeatures, kSize = kBatch * kRows * kRow;
  std::vector<float> lse = std::vector<float>(kBatch * kHeads * kRows, NAN), mask;

  accum_attention call(void *values, int32_t dtype, bool backward) {
    accum_attention call = {};
    call.dtype = dtype;
    call.causal = 1, call.hidden = ACCUM_HIDDEN_EXCLUDED, call.backward = backward;
    call.batch = kBatch, call.heads = kHeads, call.groups = kGroups, call.queries = call.keys = kRows;
    call.features = call.value_features = kFeatures;
    call.scale = 0.2;
    accum_strided *tensors[] = {&call.q, &call.k, &call.v, &call.y, &call.dy, &call.dq, &call.dk, &call.dv};
    int64_t element = dtype == ACCUM_BF16 ? 2 : 4;
    for (int i = 0; i < 8; ++i)
      *tensors[i] = {static_cast<char *>(values) + i * kSize * element, kRows * kRow, kFeatures, kRow, 1};
    call.lse = {lse.data(), kHeads * kRows, kRows, 1, 0};
    for (int64_t i = 0; i < kBatch * kHeads * kRows; ++i)
      mask.push_back(float(i % 3) / 2);
    call.mask = {mask.data(), kHeads * kRows, kRows, 0, 1};
    call.mask_dtype = ACCUM_F32;
    return call;
  }
};

TEST(ShortFloats, WidenedAttentionIsThatOfF32RoundedOnce) {
  Attending narrow, wide;
  Bf16 bf16 = someBf16(8 * Attending::kSize, 9);
  for (bool backward : {false, true}) {
    std::vector<float> floats = widened(bf16);
    ASSERT_TRUE(attention(narrow.call(bf16.data(), ACCUM_BF16, backward), ShortProducts::Widened));
    ASSERT_TRUE(attention(wide.call(floats.data(), ACCUM_F32, backward)));
    Bf16 rounded;
    for (float value : floats)
      rounded.push_back(toBf16(value));
    EXPECT_EQ(bf16, rounded);
    EXPECT_EQ(narrow.lse, wide.lse);
    EXPECT_TRUE(std::isfinite(wide.lse.back()));
  }
}

} // namespace
