// SPDX-License-Identifier: Apache-2.0
// GEMMs through cuBLASLt's column-major world (the fake's, which follows its reference) against a plain
// row-major loop: transposes, strides, bias, beta, dtypes, batches that merge and that do not.
#include "runtime/cuda/AlignedParts.h"
#include "runtime/cuda/MatmulShape.h"
#include "test/runtime/cuda/FakeDevice.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace accum::runtime;
using namespace accum::runtime::cuda;
using namespace accum::test;

namespace {

constexpr uint64_t kA = 0, kB = 1 << 18, kC = 2 << 18, kBias = 3 << 18, kAll = 4 << 18;

struct Values {
  int32_t dtype;
  std::vector<uint8_t> bytes;

  Values(int32_t dtype, uint64_t count, std::mt19937 &random)
      : dtype(dtype), bytes(count * bytesOf(DType(dtype))) {
    std::uniform_int_distribution<int> small(-8, 8); // exact in every dtype
    for (uint64_t i = 0; i < count; ++i)
      set(i, small(random) / 4.0);
  }
  void set(uint64_t i, double value) {
    if (dtype == ACCUM_F64)
      std::memcpy(bytes.data() + i * 8, &value, 8);
    auto narrow = float(value);
    if (dtype == ACCUM_F32)
      std::memcpy(bytes.data() + i * 4, &narrow, 4);
    uint16_t bf16 = uint16_t(std::bit_cast<uint32_t>(narrow) >> 16);
    if (dtype == ACCUM_BF16)
      std::memcpy(bytes.data() + i * 2, &bf16, 2);
  }
  double get(uint64_t i) const {
    if (dtype == ACCUM_F64)
      return reinterpret_cast<const double *>(bytes.data())[i];
    if (dtype == ACCUM_F32)
      return reinterpret_cast<const float *>(bytes.data())[i];
    return std::bit_cast<float>(uint32_t(reinterpret_cast<const uint16_t *>(bytes.data())[i]) << 16);
  }
};

class CudaGemm : public testing::Test {
protected:
  /// `call` has its shape and strides; pointers are filled in. C starts as random numbers. It runs in aligned
  /// parts where it has so many operations.
  void check(accum_gemm call, float beta, bool bias, uint64_t biasAt = 0, double cutFrom = HUGE_VAL) {
    Values a(call.dtype, 4096, random), b(call.dtype, 4096, random), c(call.c_dtype, 8192, random);
    Values added(call.c_dtype, 256, random);
    card.put(kA, a.bytes.data(), a.bytes.size());
    card.put(kB, b.bytes.data(), b.bytes.size());
    card.put(kC, c.bytes.data(), c.bytes.size());
    card.put(kBias, added.bytes.data(), added.bytes.size());
    call.a = card.base + kA;
    call.b = card.base + kB;
    call.c = card.base + kC;
    call.bias = bias ? card.base + kBias + biasAt * bytesOf(DType(call.c_dtype)) : nullptr;
    for (const GemmPart &part : alignedParts(call, beta, cutFrom)) {
      Status status = card.device->gemm(part.call, part.beta);
      ASSERT_TRUE(status) << format(status.error());
    }
    Values result = c;
    result.bytes = card.take(kC, c.bytes.size());
    expect(call, beta, a, b, bias ? &added : nullptr, biasAt, c);
    for (uint64_t i = 0; i < 8192; ++i)
      ASSERT_EQ(result.get(i), c.get(i)) << "at " << i;
  }

  static void expect(const accum_gemm &call, float beta, const Values &a, const Values &b, const Values *bias,
                     uint64_t biasAt, Values &c) {
    int64_t points = 1;
    for (int d = 0; d < call.batch_dims; ++d)
      points *= call.batch[d];
    for (int64_t point = 0; point < points; ++point) {
      int64_t rest = point, atA = 0, atB = 0, atC = 0;
      for (int d = call.batch_dims - 1; d >= 0; --d) {
        int64_t index = rest % call.batch[d];
        rest /= call.batch[d];
        atA += index * call.a_batch[d];
        atB += index * call.b_batch[d];
        atC += index * call.c_batch[d];
      }
      for (int64_t i = 0; i < call.m; ++i)
        for (int64_t j = 0; j < call.n; ++j) {
          double sum = bias ? bias->get(biasAt + uint64_t(j)) : 0;
          for (int64_t k = 0; k < call.k; ++k)
            sum +=
                a.get(atA + i * call.a_row + k * call.a_col) * b.get(atB + k * call.b_row + j * call.b_col);
          int64_t at = atC + i * call.c_row + j;
          c.set(at, beta * c.get(at) + sum);
        }
    }
  }

  std::mt19937 random{7};
  FakeDevice card{kAll};
};

accum_gemm plain(int32_t dtype, int32_t resultType, int64_t m, int64_t n, int64_t k) {
  accum_gemm call = {};
  call.dtype = dtype;
  call.c_dtype = resultType;
  call.m = m;
  call.n = n;
  call.k = k;
  call.a_row = k;
  call.b_row = call.c_row = n;
  call.a_col = call.b_col = 1;
  return call;
}

accum_gemm batched(accum_gemm call, std::vector<int64_t> extents, std::vector<int64_t> a,
                   std::vector<int64_t> b, std::vector<int64_t> c) {
  call.batch_dims = int32_t(extents.size());
  std::copy(extents.begin(), extents.end(), call.batch);
  std::copy(a.begin(), a.end(), call.a_batch);
  std::copy(b.begin(), b.end(), call.b_batch);
  std::copy(c.begin(), c.end(), call.c_batch);
  return call;
}

} // namespace

TEST_F(CudaGemm, TransposesBetaAndBias) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (int kind = 0; kind < 3; ++kind) {
        accum_gemm call = plain(ACCUM_F32, ACCUM_F32, 5, 7, 3);
        if (transposeA)
          call.a_row = 1, call.a_col = 9;
        if (transposeB)
          call.b_row = 1, call.b_col = 4;
        call.c_row = 11;
        check(call, kind == 1 ? 1 : 0, kind == 2);
      }
}

/// Rows are 64 elements apart, and 57 of them are used: 56 and 1, in whichever operand they are contiguous.
TEST_F(CudaGemm, PartsOfAlignedExtentsMakeTheWhole) {
  for (bool turnA : {false, true})
    for (bool turnB : {false, true})
      for (int kind = 0; kind < 3; ++kind) {
        accum_gemm call = plain(ACCUM_BF16, ACCUM_F32, 19, 57, 41);
        call.a_row = turnA ? 1 : 64;
        call.a_col = turnA ? 64 : 1;
        call.b_row = turnB ? 1 : 64;
        call.b_col = turnB ? 64 : 1;
        call.c_row = 64;
        EXPECT_EQ(alignedParts(call, 0, 0).size(), size_t(2 * (turnA ? 2 : 1) * (!turnA || turnB ? 2 : 1)));
        check(call, kind == 1 ? 1 : 0, kind == 2, 0, 0);
      }
}

TEST(AlignedParts, NothingIsCutWhereNothingIsGained) {
  accum_gemm call = plain(ACCUM_BF16, ACCUM_BF16, 4096, 50257, 768);
  EXPECT_EQ(alignedParts(call, 0).size(), 1U); // rows of B and C are not aligned
  call.b_row = call.c_row = 50304;
  std::vector<GemmPart> parts = alignedParts(call, 0);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].call.n, 50256);
  EXPECT_EQ(parts[1].call.n, 1);
  call.m = 16;
  EXPECT_EQ(alignedParts(call, 0).size(), 1U); // too small
  EXPECT_EQ(alignedParts(plain(ACCUM_BF16, ACCUM_BF16, 4096, 50256, 768), 0).size(), 1U);
}

/// An algorithm is for biases of the alignment that the first one had.
TEST_F(CudaGemm, BiasesOfOtherAlignments) {
  for (uint64_t at : {0, 1, 4, 0})
    check(plain(ACCUM_BF16, ACCUM_BF16, 5, 7, 3), 0, true, at);
}

TEST_F(CudaGemm, DtypesAndDegenerateShapes) {
  check(plain(ACCUM_BF16, ACCUM_BF16, 4, 6, 8), 0, true);
  check(plain(ACCUM_BF16, ACCUM_F32, 4, 6, 8), 1, false);
  check(plain(ACCUM_F64, ACCUM_F64, 3, 5, 2), 1, false);
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 5, 3}, {5, 1, 3}, {5, 3, 1}, {1, 1, 1}})
    check(plain(ACCUM_F32, ACCUM_F32, m, n, k), 1, false);
  accum_gemm column = plain(ACCUM_F32, ACCUM_F32, 5, 1, 3); // B is a strided column
  column.b_row = 6;
  check(column, 0, false);
}

TEST_F(CudaGemm, BatchesMergeOrBecomeLoops) {
  // [2, 3] contiguous: one strided batch of 6; then heads in the middle of a row, [batch, heads] with other
  // strides; then a broadcast B; then three dimensions of which none merge.
  check(batched(plain(ACCUM_F32, ACCUM_F32, 4, 5, 3), {2, 3}, {36, 12}, {45, 15}, {60, 20}), 1, false);
  accum_gemm heads = plain(ACCUM_F32, ACCUM_F32, 4, 4, 8);
  heads.a_row = 24;
  heads.b_row = 1;
  heads.b_col = 24;
  check(batched(heads, {2, 3}, {96, 8}, {96, 8}, {48, 16}), 0, false);
  check(batched(plain(ACCUM_F32, ACCUM_F32, 4, 5, 3), {6}, {12}, {0}, {20}), 0, true);
  check(batched(plain(ACCUM_F32, ACCUM_F32, 2, 2, 2), {2, 3, 2}, {4, 16, 8}, {40, 4, 20}, {24, 8, 4}), 1,
        false);
  check(
      batched(plain(ACCUM_F32, ACCUM_F32, 2, 2, 2), {1, 3, 1, 2}, {7, 16, 3, 8}, {9, 4, 5, 20}, {0, 8, 0, 4}),
      0, false);
}

/// One call per head or per sample, whichever are fewer.
TEST(CudaGemmShape, TheLongerDimensionIsTheStridedOne) {
  for (auto [samples, heads] : {std::pair<int64_t, int64_t>{64, 12}, {2, 12}}) {
    accum_gemm call = plain(ACCUM_BF16, ACCUM_BF16, 16, 16, 8);
    call.a_row = 8 * heads;
    MatmulLoops loops;
    auto shape =
        shapeOf(batched(call, {samples, heads}, {128 * heads, 8}, {128 * heads, 8}, {256 * heads, 256}), 0,
                false, loops);
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->points, std::max(samples, heads));
    ASSERT_EQ(loops.count, 1);
    EXPECT_EQ(loops.extent[0], std::min(samples, heads));
  }
}

TEST_F(CudaGemm, RefusesWhatItCannotDo) {
  accum_gemm call = plain(ACCUM_F32, ACCUM_F32, 4, 4, 4);
  call.a_row = 8;
  call.a_col = 2;
  EXPECT_EQ(card.device->gemm(call, 0).error().message, "a GEMM was refused: an operand has no unit stride");
  call = plain(ACCUM_F32, ACCUM_BF16, 4, 4, 4);
  EXPECT_EQ(card.device->gemm(call, 0).error().message,
            "a GEMM was refused: a GPU multiplies f32 to f32, bf16 to bf16 or f32, and f64 to f64");
}

TEST_F(CudaGemm, NormIsTheSumOfSquares) {
  std::vector<float> values(70000);
  double expected = 0;
  std::normal_distribution<float> normal;
  for (float &value : values) {
    value = normal(random);
    expected += double(value) * value;
  }
  card.put(0, values.data(), values.size() * 4);
  auto square = card.device->squaredNorm(card.base, values.size(), ACCUM_F32);
  ASSERT_TRUE(square);
  EXPECT_NEAR(*square, expected, 1e-12 * expected);
  EXPECT_EQ(*card.device->squaredNorm(card.base, values.size(), ACCUM_F32), *square);
  float bad = NAN;
  card.put(69999 * 4, &bad, 4);
  EXPECT_TRUE(std::isnan(*card.device->squaredNorm(card.base, values.size(), ACCUM_F32)));
}
