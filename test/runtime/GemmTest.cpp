// SPDX-License-Identifier: Apache-2.0
// GEMM against three plain loops in double, over shapes, strides and batch dimensions; and the same bits on
// any number of threads.
#include "runtime/host/Gemm.h"
#include "runtime/files/ShortFloats.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime;

namespace {

/// Operands of one call; `turnA`, `turnB`: stored with unit row stride.
template <typename T> struct Problem {
  int64_t points, m, n, k;
  bool turnA, turnB;
  std::vector<T> a, b, c, bias;

  Problem(int64_t points, int64_t m, int64_t n, int64_t k, bool turnA, bool turnB)
      : points(points), m(m), n(n), k(k), turnA(turnA), turnB(turnB), a(points * m * k), b(points * k * n),
        c(points * m * n, T(0.5)), bias(n) {
    std::mt19937 random(unsigned(m * 31 + n * 7 + k));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto *values : {&a, &b, &bias})
      for (T &value : *values)
        value = uniform(random);
  }

  accum_gemm call(bool withBias) {
    accum_gemm call = {};
    call.a = a.data();
    call.b = b.data();
    call.c = c.data();
    call.bias = withBias ? bias.data() : nullptr;
    call.dtype = call.c_dtype = sizeof(T) == 8 ? ACCUM_F64 : ACCUM_F32;
    call.m = m;
    call.n = n;
    call.k = k;
    call.a_row = turnA ? 1 : k;
    call.a_col = turnA ? m : 1;
    call.b_row = turnB ? 1 : n;
    call.b_col = turnB ? k : 1;
    call.c_row = n;
    call.batch_dims = 1;
    call.batch[0] = points;
    call.a_batch[0] = m * k;
    call.b_batch[0] = k * n;
    call.c_batch[0] = m * n;
    return call;
  }

  double expected(int64_t p, int64_t i, int64_t j, double start) const {
    double sum = start;
    for (int64_t q = 0; q < k; ++q)
      sum += double(a[p * m * k + (turnA ? q * m + i : i * k + q)]) *
             double(b[p * k * n + (turnB ? j * k + q : q * n + j)]);
    return sum;
  }

  void check(double (*start)(const Problem &, int64_t)) const {
    double tolerance = (sizeof(T) == 8 ? 1e-13 : 2e-6) * std::sqrt(double(k)) * 4;
    for (int64_t p = 0; p < points; ++p)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          ASSERT_NEAR(c[(p * m + i) * n + j], expected(p, i, j, start(*this, j)), tolerance)
              << m << "x" << n << "x" << k << " at " << p << "," << i << "," << j;
  }
};

template <typename T> void checkAll(int64_t points, int64_t m, int64_t n, int64_t k) {
  for (int turn = 0; turn < 4; ++turn) {
    Problem<T> problem(points, m, n, k, turn & 1, turn & 2);
    accum_gemm call = problem.call(false);
    ASSERT_TRUE(gemm(call, 1));
    problem.check([](const Problem<T> &, int64_t) { return 0.5; });
    problem.c.assign(problem.c.size(), T(NAN)); // beta = 0 reads nothing
    ASSERT_TRUE(gemm(call, 0));
    problem.check([](const Problem<T> &, int64_t) { return 0.0; });
    problem.c.assign(problem.c.size(), T(NAN));
    call.bias = problem.bias.data();
    ASSERT_TRUE(gemm(call, 0));
    problem.check([](const Problem<T> &p, int64_t j) { return double(p.bias[j]); });
  }
}

class Gemm : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(loadGemmLibrary()); }
  void TearDown() override { setThreads(2); }
};

constexpr int64_t
    kShapes[][4] = {{1, 1, 1, 1},       {1, 1, 33, 70},     {1, 65, 1, 130},
                    {3, 7, 5, 9},       {1, 100, 70, 65},   {8, 16, 16, 32},
                    {1, 200, 530, 40},  {1, 1024, 5, 777}, // columns whole pages apart: in pieces of k
                    {2, 97, 49, 391},   {1, 300, 256, 513}, {1, 230, 512, 400},
                    {1, 100, 1024, 30}, // panels: with rests, and of rows in the same sets
                    {1, 512, 70, 289}}; // columns of A in the same sets, with a rest of k

} // namespace

TEST_F(Gemm, F32EqualsPlainLoops) {
  for (auto [points, m, n, k] : kShapes)
    checkAll<float>(points, m, n, k);
}

/// Attention multiplies whole operands on the threads that it has: no tile bounds their columns.
TEST_F(Gemm, OneThreadMultipliesAnyNumberOfColumns) {
  for (int turn = 0; turn < 4; ++turn) {
    Problem<float> problem(1, 512, 530, 300, turn & 1, turn & 2);
    accum_gemm call = problem.call(false);
    parallelFor(1, 1, [&](int64_t, int64_t) { gemmOnThisThread(call, 1); });
    problem.check([](const Problem<float> &, int64_t) { return 0.5; });
  }
}

TEST_F(Gemm, F64EqualsPlainLoops) {
  for (auto [points, m, n, k] : kShapes)
    checkAll<double>(points, m, n, k);
}

/// As many as there may be; the rest is not started.
TEST_F(Gemm, NoNumberOfThreadsOverflowsTheStack) {
  EXPECT_EQ(setThreads(100'000), kMostThreads);
  checkAll<float>(1, 8, 8, 8);
}

TEST_F(Gemm, BitsDoNotDependOnThreads) {
  // The last rows are those where oneDNN's own threading changes bits.
  constexpr int64_t kCases[][3] = {{1, 768, 512},  {768, 1, 512},    {32, 32, 20000}, {24, 96, 2048},
                                   {64, 64, 1000}, {384, 768, 2048}, {130, 700, 300}, {384, 1024, 500}};
  for (auto [m, n, k] : kCases) {
    std::vector<float> first;
    for (int threads : {1, 2, 3, 8, 33}) {
      setThreads(threads);
      Problem<float> problem(1, m, n, k, false, true);
      accum_gemm call = problem.call(false);
      ASSERT_TRUE(gemm(call, 0));
      if (first.empty())
        first = problem.c;
      EXPECT_EQ(std::memcmp(first.data(), problem.c.data(), first.size() * sizeof(float)), 0)
          << m << "x" << n << "x" << k << " on " << threads;
    }
  }
}

TEST_F(Gemm, HeadsInTheMiddleOfARow) {
  // q [2 samples, 3 rows, 2 heads x 4] times k of the same layout, transposed: scores [2, 2 heads, 3, 3].
  std::vector<float> q(2 * 3 * 8), k(q.size()), scores(2 * 2 * 3 * 3, NAN);
  for (size_t i = 0; i < q.size(); ++i) {
    q[i] = float(i % 7) - 3;
    k[i] = float(i % 5) - 2;
  }
  accum_gemm call = {};
  call.a = q.data();
  call.b = k.data();
  call.c = scores.data();
  call.dtype = call.c_dtype = ACCUM_F32;
  call.m = call.n = 3;
  call.k = 4;
  call.a_row = call.b_col = 8;
  call.a_col = call.b_row = 1;
  call.c_row = 3;
  call.batch_dims = 2;
  call.batch[0] = call.batch[1] = 2;
  call.a_batch[0] = call.b_batch[0] = 24;
  call.a_batch[1] = call.b_batch[1] = 4;
  call.c_batch[0] = 18;
  call.c_batch[1] = 9;
  ASSERT_TRUE(gemm(call, 0));
  for (int s = 0; s < 2; ++s)
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          float sum = 0;
          for (int d = 0; d < 4; ++d)
            sum += q[s * 24 + i * 8 + h * 4 + d] * k[s * 24 + j * 8 + h * 4 + d];
          EXPECT_EQ(scores[((s * 2 + h) * 3 + i) * 3 + j], sum);
        }
}

/// In pieces along k, and tiles along both axes; f32 and bf16 results.
void checkPacked(bool turnA, bool turnB) {
  auto rounded = [](float value) { return fromBf16(toBf16(value)); };
  Problem<float> problem(1, 1100, 530, 600, turnA, turnB);
  for (auto *values : {&problem.a, &problem.b, &problem.bias})
    std::transform(values->begin(), values->end(), values->begin(), rounded);
  auto bf16 = [](const std::vector<float> &values) {
    std::vector<uint16_t> bits(values.size());
    std::transform(values.begin(), values.end(), bits.begin(), toBf16);
    return bits;
  };
  auto bias = [](const Problem<float> &p, int64_t j) { return double(p.bias[j]); };
  accum_gemm call = problem.call(true);
  problem.c.assign(problem.c.size(), NAN);
  ASSERT_TRUE(gemm(call, 0, ShortProducts::Tf32)); // which holds all that bf16 does
  problem.check(bias);
  std::vector<float> exact = problem.c;
  std::vector<uint16_t> a = bf16(problem.a), b = bf16(problem.b), bits = bf16(problem.bias),
                        c(problem.c.size(), toBf16(NAN));
  call.a = a.data(), call.b = b.data();
  call.dtype = ACCUM_BF16;
  problem.c.assign(problem.c.size(), NAN);
  ASSERT_TRUE(gemm(call, 0));
  problem.check(bias);
  call.c = c.data(), call.bias = bits.data();
  call.c_dtype = ACCUM_BF16;
  ASSERT_TRUE(gemm(call, 0));
  for (size_t i = 0; i < c.size(); ++i)
    ASSERT_NEAR(fromBf16(c[i]), exact[i], std::abs(exact[i]) / 256 + 1e-4) << i;
}

TEST_F(Gemm, BiasesOfPackedProducts) {
  for (auto [turnA, turnB] : {std::pair(false, true), std::pair(true, false)})
    checkPacked(turnA, turnB);
}

TEST_F(Gemm, RefusesWhatItCannotDo) {
  Problem<float> problem(1, 4, 4, 4, false, false);
  accum_gemm call = problem.call(true);
  EXPECT_FALSE(gemm(call, 1));
  call = problem.call(false);
  call.dtype = ACCUM_F16;
  EXPECT_FALSE(gemm(call, 0));
  call = problem.call(false);
  call.c_dtype = ACCUM_BF16; // of f32
  EXPECT_FALSE(gemm(call, 0));
  call = problem.call(false);
  call.a_col = 2;
  EXPECT_FALSE(gemm(call, 0));
  call = problem.call(false);
  call.batch[0] = 2;
  call.c_batch[0] = 0;
  EXPECT_FALSE(gemm(call, 0));
}
