// SPDX-License-Identifier: Apache-2.0
// Attention on bf16 whose products are the processor's own, against plain loops in double on the same
// operands.
#include "runtime/files/ShortFloats.h"
#include "runtime/host/Attention.h"
#include "runtime/system/ThreadPool.h"
#include "test/runtime/AttentionProblem.h"
#include <algorithm>

using namespace accum::runtime;

namespace {

using Bf16 = std::vector<uint16_t>;
using Case = accum::test::AttentionCase;
using Mask = accum::test::AttentionMask;

/// A problem in double whose operands are numbers of bf16, and the same call on bf16.
struct Problem {
  accum::test::AttentionProblem<double> wide;
  Bf16 qkv, y, dy, dqkv;
  std::vector<float> lse, added;
  accum_attention call;

  explicit Problem(const Case &shape)
      : wide(shape), qkv(rounded(wide.qkv)), y(wide.y.size(), toBf16(NAN)), dy(rounded(wide.dy)),
        dqkv(wide.dqkv.size(), toBf16(NAN)), lse(wide.lse.size(), NAN),
        added(wide.added.begin(), wide.added.end()), call(wide.call) {
    call.dtype = ACCUM_BF16;
    for (accum_strided *tensor : {&call.q, &call.k, &call.v})
      move(*tensor, wide.qkv, qkv.data());
    for (accum_strided *tensor : {&call.dq, &call.dk, &call.dv})
      move(*tensor, wide.dqkv, dqkv.data());
    move(call.y, wide.y, y.data());
    move(call.dy, wide.dy, dy.data());
    move(call.lse, wide.lse, lse.data());
    if (call.mask_dtype == ACCUM_F64 && call.mask.data) {
      wide.added.assign(added.begin(), added.end());
      move(call.mask, wide.added, added.data());
      call.mask_dtype = ACCUM_F32;
    }
  }

  static Bf16 rounded(std::vector<double> &values) {
    Bf16 bf16;
    for (double &value : values) {
      bf16.push_back(toBf16(float(value)));
      value = fromBf16(bf16.back());
    }
    return bf16;
  }

  template <typename T> static void move(accum_strided &tensor, std::vector<double> &from, T *to) {
    tensor.data = to + (static_cast<double *>(tensor.data) - from.data());
  }

  Status run(ShortProducts products) {
    call.backward = 0;
    if (Status status = attention(call, products); !status)
      return status;
    call.backward = 1;
    return attention(call, products);
  }
};

/// The length of the difference is a small part of that of what was expected; a NaN is one in both.
void expectClose(const Bf16 &values, const std::vector<double> &expected, double part, const char *what) {
  double difference = 0, all = 0;
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double value = fromBf16(values[i]);
    ASSERT_EQ(std::isnan(value), std::isnan(expected[i])) << what << " at " << i;
    if (std::isnan(value))
      continue;
    difference += (value - expected[i]) * (value - expected[i]);
    all += expected[i] * expected[i];
  }
  EXPECT_LE(std::sqrt(difference), part * std::sqrt(all) + 1e-9) << what;
}

class Bf16Attention : public testing::Test {
protected:
  void SetUp() override {
    Problem one({1, 1, 1, 1, 1, 1, 1});
    ASSERT_TRUE(loadGemmLibrary());
    accum_gemm call = {};
    float c = 0;
    call.a = call.b = one.qkv.data(), call.c = &c;
    call.dtype = ACCUM_BF16, call.c_dtype = ACCUM_F32;
    call.m = call.n = call.k = call.a_row = call.a_col = call.b_row = call.b_col = call.c_row = 1;
    if (!gemm(call, 0, ShortProducts::Native))
      GTEST_SKIP() << "the library has no products of bf16 for this processor";
  }
  void TearDown() override { setThreads(2); }
};

/// Half a unit of bf16 is 0.2 %: of results, and of the weights and cotangents that products read.
constexpr double kOfResults = 0.004, kOfGradients = 0.008;

void check(const Case &shape) {
  Problem problem(shape);
  ASSERT_TRUE(problem.run(ShortProducts::Native));
  expectClose(problem.y, problem.wide.expectedY(), kOfResults, "y");
  expectClose(problem.dqkv, problem.wide.expectedGradients(), kOfGradients, "gradients");
}

} // namespace

TEST_F(Bf16Attention, EqualsPlainLoops) {
  Case packed{2, 4, 2, 75, 75, 8, 8, true};
  packed.packed = true;
  for (Case shape : {Case{1, 1, 1, 3, 5, 2, 2}, Case{2, 3, 3, 17, 17, 5, 5}, Case{1, 2, 2, 64, 256, 16, 16},
                     Case{1, 1, 1, 65, 257, 64, 64}, Case{2, 6, 3, 70, 300, 9, 4},
                     Case{1, 2, 1, 130, 300, 4, 12, true}, packed})
    check(shape);
}

TEST_F(Bf16Attention, MasksAndRowsThatSeeNothing) {
  for (Mask mask : {Mask::Keys, Mask::Some, Mask::All, Mask::Added, Mask::LowKeys, Mask::InfiniteKeys})
    for (accum_hidden hidden :
         {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_INFINITE, ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED}) {
      SCOPED_TRACE(testing::Message() << "mask " << int(mask) << " hidden " << int(hidden));
      check({2, 2, 1, 70, 70, 4, 3, false, mask, hidden});
    }
}

TEST_F(Bf16Attention, BitsDoNotDependOnThreads) {
  Case shape{2, 4, 2, 150, 150, 32, 32, true};
  setThreads(1);
  Problem one(shape), many(shape);
  ASSERT_TRUE(one.run(ShortProducts::Native));
  setThreads(7);
  ASSERT_TRUE(many.run(ShortProducts::Native));
  EXPECT_EQ(one.y, many.y);
  EXPECT_EQ(one.dqkv, many.dqkv);
  EXPECT_EQ(one.lse, many.lse);
}
