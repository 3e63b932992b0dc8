// SPDX-License-Identifier: Apache-2.0
// Products of bf16 by every way that this processor has, against plain loops in double.
// fewer-instructions.test runs it again on less of a processor, where the library emulates them or has none.
#include "runtime/files/ShortFloats.h"
#include "runtime/host/Bf16Rows.h"
#include "runtime/host/Gemm.h"
#include "runtime/host/GemmBf16.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime;

namespace {

using Bf16 = std::vector<uint16_t>;

Bf16 someBf16(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Bf16 values(count);
  for (uint16_t &value : values)
    value = toBf16(uniform(random));
  return values;
}

/// `points` products in one call; `turnA`, `turnB`: stored with unit row stride. Rows have three elements
/// more than are multiplied.
struct Problem {
  static constexpr int64_t kMore = 3;
  int64_t points, m, n, k;
  bool turnA, turnB;
  Bf16 a, b, bias;

  Problem(int64_t points, int64_t m, int64_t n, int64_t k, int turn)
      : points(points), m(m), n(n), k(k), turnA(turn & 1), turnB(turn & 2),
        a(someBf16(size_t(points * (turnA ? k * (m + kMore) : m * (k + kMore))), 1)),
        b(someBf16(size_t(points * (turnB ? n * (k + kMore) : k * (n + kMore))), 2)),
        bias(someBf16(size_t(n), 3)) {}

  int64_t rowOfA() const { return turnA ? 1 : k + kMore; }
  int64_t colOfA() const { return turnA ? m + kMore : 1; }
  int64_t rowOfB() const { return turnB ? 1 : n + kMore; }
  int64_t colOfB() const { return turnB ? k + kMore : 1; }

  accum_gemm call(void *c, int32_t result) const {
    accum_gemm call = {};
    call.a = a.data(), call.b = b.data(), call.c = c;
    call.dtype = ACCUM_BF16, call.c_dtype = result;
    call.m = m, call.n = n, call.k = k;
    call.a_row = rowOfA(), call.a_col = colOfA(), call.b_row = rowOfB(), call.b_col = colOfB();
    call.c_row = n;
    call.batch_dims = 1;
    call.batch[0] = points;
    call.a_batch[0] = int64_t(a.size()) / points;
    call.b_batch[0] = int64_t(b.size()) / points;
    call.c_batch[0] = m * n;
    return call;
  }

  double product(int64_t p, int64_t i, int64_t j) const {
    const uint16_t *left = a.data() + p * int64_t(a.size()) / points,
                   *right = b.data() + p * int64_t(b.size()) / points;
    double sum = 0;
    for (int64_t q = 0; q < k; ++q)
      sum += double(fromBf16(left[i * rowOfA() + q * colOfA()])) *
             double(fromBf16(right[q * rowOfB() + j * colOfB()]));
    return sum;
  }

  /// Sums of f32 whatever their order, and of a result in bf16 half a unit of its 8 bits.
  void check(int64_t p, int64_t i, int64_t j, float value, double expected, bool bf16) const {
    double tolerance = 2e-6 * std::sqrt(double(k)) + (bf16 ? std::ldexp(std::abs(expected), -8) : 0);
    ASSERT_NEAR(value, expected, tolerance)
        << m << "x" << n << "x" << k << " turned " << turnA << turnB << " at " << p << "," << i << "," << j;
  }
};

/// Fresh results, results with a bias, and what is added to 0.5: (f32 and bf16) x 3.
struct Results {
  std::vector<float> fresh, biased, added;
  Bf16 freshBf16, biasedBf16, addedBf16;

  explicit Results(size_t count)
      : fresh(count, NAN), biased(count, NAN), added(count, 0.5f), freshBf16(count, toBf16(NAN)),
        biasedBf16(count, toBf16(NAN)), addedBf16(count, toBf16(0.5f)) {}

  void compute(const Problem &problem, ShortProducts products) {
    std::vector<float> bias(problem.bias.size());
    widenRow(problem.bias.data(), problem.n, bias.data());
    auto run = [&](void *c, int32_t result, const void *with, float beta) {
      accum_gemm call = problem.call(c, result);
      call.bias = with;
      Status status = gemm(call, beta, products);
      ASSERT_TRUE(status) << (status ? "" : status.error().message);
    };
    run(fresh.data(), ACCUM_F32, nullptr, 0);
    run(biased.data(), ACCUM_F32, bias.data(), 0);
    run(added.data(), ACCUM_F32, nullptr, 1);
    run(freshBf16.data(), ACCUM_BF16, nullptr, 0);
    run(biasedBf16.data(), ACCUM_BF16, problem.bias.data(), 0);
    run(addedBf16.data(), ACCUM_BF16, nullptr, 1);
  }
};

void checkAll(const Problem &problem, ShortProducts products) {
  Results results(size_t(problem.points * problem.m * problem.n));
  results.compute(problem, products);
  for (int64_t p = 0; p < problem.points; ++p)
    for (int64_t i = 0; i < problem.m; ++i)
      for (int64_t j = 0; j < problem.n; ++j) {
        auto at = size_t((p * problem.m + i) * problem.n + j);
        double sum = problem.product(p, i, j), bias = double(fromBf16(problem.bias[size_t(j)]));
        problem.check(p, i, j, results.fresh[at], sum, false);
        problem.check(p, i, j, results.biased[at], sum + bias, false);
        problem.check(p, i, j, results.added[at], sum + 0.5, false);
        problem.check(p, i, j, fromBf16(results.freshBf16[at]), sum, true);
        problem.check(p, i, j, fromBf16(results.biasedBf16[at]), sum + bias, true);
        problem.check(p, i, j, fromBf16(results.addedBf16[at]), sum + 0.5, true);
      }
}

class Bf16Gemm : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(loadGemmLibrary()); }
  void TearDown() override { setThreads(2); }

  /// The ways that this processor has.
  static std::vector<ShortProducts> ways() {
    std::vector<ShortProducts> all = {ShortProducts::Widened, ShortProducts::Fastest};
    if (hasNative())
      all.push_back(ShortProducts::Native);
    return all;
  }
  static bool hasNative() {
    float c = 0;
    return bool(gemm(Problem(1, 1, 1, 1, 0).call(&c, ACCUM_F32), 0, ShortProducts::Native));
  }
};

// Rests of every blocking: of 16 x 16 x 32 tiles, of strips, of tiles of a product.
constexpr int64_t kShapes[][4] = {{1, 1, 1, 1},     {1, 1, 33, 70},  {1, 65, 1, 130},  {3, 7, 5, 9},
                                  {8, 16, 16, 32},  {2, 97, 49, 91}, {1, 33, 70, 300}, {1, 300, 40, 64},
                                  {1, 17, 500, 31}, {1, 1030, 9, 20}};

} // namespace

TEST_F(Bf16Gemm, EqualsPlainLoops) {
  for (ShortProducts products : ways())
    for (auto [points, m, n, k] : kShapes)
      for (int turn = 0; turn < 4; ++turn)
        checkAll(Problem(points, m, n, k, turn), products);
}

/// Strides that the library cannot take are no reason to refuse a product.
TEST_F(Bf16Gemm, TakesAnyStrides) {
  Bf16 a = someBf16(2 * 40 * 50, 1), b = someBf16(50 * 30, 2);
  for (ShortProducts products : ways()) {
    std::vector<float> c(40 * 30, NAN);
    accum_gemm call = {};
    call.a = a.data(), call.b = b.data(), call.c = c.data();
    call.dtype = ACCUM_BF16, call.c_dtype = ACCUM_F32;
    call.m = 40, call.n = 30, call.k = 50;
    call.a_row = 100, call.a_col = 2, call.b_row = 30, call.b_col = 1, call.c_row = 30;
    ASSERT_TRUE(gemm(call, 0, products));
    for (int64_t i = 0; i < 40; ++i)
      for (int64_t j = 0; j < 30; ++j) {
        double sum = 0;
        for (int64_t q = 0; q < 50; ++q)
          sum += double(fromBf16(a[size_t(i * 100 + q * 2)])) * double(fromBf16(b[size_t(q * 30 + j)]));
        ASSERT_NEAR(c[size_t(i * 30 + j)], sum, 2e-5);
      }
  }
}

/// B in f32, of which every number needs rounding: against loops over what it is rounded to, and the same
/// bits on any number of threads. Pieces along k, and tiles on both axes.
TEST_F(Bf16Gemm, RoundsAWideB) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> below(-0x1p-9f, 0x1p-9f);
  for (ShortProducts products : ways())
    for (auto [points, m, n, k] : {std::array<int64_t, 4>{2, 7, 5, 9}, {1, 530, 20, 40}, {1, 9, 800, 1600}})
      for (int turn = 0; turn < 4; ++turn) {
        Problem problem(points, m, n, k, turn);
        std::vector<float> wide(problem.b.size());
        for (size_t i = 0; i < wide.size(); ++i) {
          wide[i] = fromBf16(problem.b[i]) * (1 + below(random));
          problem.b[i] = toBf16(wide[i]);
        }
        for (float beta : {0.0f, 1.0f}) {
          std::vector<float> sums(size_t(points * m * n), 0.5f), again = sums;
          Bf16 bf16(sums.size(), toBf16(0.5f));
          auto run = [&](void *c, int32_t result) {
            accum_gemm call = problem.call(c, result);
            call.b = wide.data();
            call.dtype |= ACCUM_GEMM_WIDE_B;
            ASSERT_TRUE(gemm(call, beta, products));
          };
          run(sums.data(), ACCUM_F32);
          run(bf16.data(), ACCUM_BF16);
          setThreads(1);
          run(again.data(), ACCUM_F32);
          setThreads(2);
          EXPECT_EQ(std::memcmp(sums.data(), again.data(), sums.size() * sizeof(float)), 0);
          for (size_t at = 0; at < sums.size(); ++at) {
            int64_t p = int64_t(at) / (m * n), i = int64_t(at) / n % m, j = int64_t(at) % n;
            double sum = problem.product(p, i, j) + beta * 0.5;
            problem.check(p, i, j, sums[at], sum, false);
            problem.check(p, i, j, fromBf16(bf16[at]), sum, true);
          }
        }
      }
}

TEST_F(Bf16Gemm, BitsDoNotDependOnThreads) {
  constexpr int64_t kCases[][3] = {{1, 768, 512}, {768, 1, 512}, {32, 32, 6000}, {130, 700, 300}};
  for (ShortProducts products : ways())
    for (auto [m, n, k] : kCases) {
      Problem problem(1, m, n, k, 2);
      auto count = size_t(m * n);
      setThreads(1);
      Results first(count);
      first.compute(problem, products);
      for (int threads : {2, 7}) {
        setThreads(threads);
        Results many(count);
        many.compute(problem, products);
        EXPECT_EQ(std::memcmp(first.added.data(), many.added.data(), count * sizeof(float)), 0)
            << m << "x" << n << "x" << k << " on " << threads;
        EXPECT_EQ(first.biasedBf16, many.biasedBf16) << m << "x" << n << "x" << k << " on " << threads;
      }
    }
}

/// What was measured stays: otherwise two steps of a run would differ.
TEST_F(Bf16Gemm, ChoosesOnce) {
  const Bf16Products &products = bf16Products();
  EXPECT_EQ(&products, &bf16Products());
  EXPECT_TRUE(!products.native || hasNative());
  EXPECT_TRUE(!products.native || products.gain > 0);
}

TEST(Bf16Rows, AreThoseOfShortFloats) {
  std::mt19937 random(7);
  for (int64_t count : {0, 1, 15, 16, 33, 1000}) {
    std::vector<float> values(size_t(count) + 1, 1), wide(values.size(), 1);
    for (int64_t i = 0; i < count; ++i) // NaN, infinite and subnormal ones too
      values[size_t(i)] = std::bit_cast<float>(i % 5 ? uint32_t(random()) : uint32_t(random()) >> 9);
    Bf16 narrow(values.size(), 7);
    roundRow(values.data(), count, narrow.data());
    widenRow(narrow.data(), count, wide.data());
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(narrow[size_t(i)], toBf16(values[size_t(i)]));
      EXPECT_EQ(std::bit_cast<uint32_t>(wide[size_t(i)]), uint32_t(narrow[size_t(i)]) << 16);
    }
    EXPECT_EQ(narrow.back(), 7);
    EXPECT_EQ(wide.back(), 1);
  }
}
