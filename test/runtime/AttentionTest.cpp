// SPDX-License-Identifier: Apache-2.0
// Attention and its derivative against plain loops in double: shapes, strides, masks, rows that see nothing;
// and the same bits on any number of threads.
#include "runtime/host/Attention.h"
#include "runtime/system/ThreadPool.h"
#include "test/runtime/AttentionProblem.h"
#include <gtest/gtest.h>

using namespace accum::runtime;

namespace {

using Case = accum::test::AttentionCase;
using Mask = accum::test::AttentionMask;
using accum::test::expectNear;

template <typename T> struct Problem : accum::test::AttentionProblem<T> {
  using accum::test::AttentionProblem<T>::AttentionProblem;

  void run() {
    this->call.backward = 0;
    ASSERT_TRUE(attention(this->call));
    this->call.backward = 1;
    ASSERT_TRUE(attention(this->call));
  }
};

template <typename T> void check(const Case &shape, double tolerance) {
  Problem<T> problem(shape);
  problem.run();
  expectNear(problem.y, problem.expectedY(), tolerance);
  expectNear(problem.dqkv, problem.expectedGradients(), tolerance);
}

void checkBoth(const Case &shape) {
  check<float>(shape, 4e-6 * std::max(1.0, shape.size));
  check<double>(shape, 1e-14 * std::max(1.0, shape.size));
}

TEST(Attention, Shapes) {
  for (Case shape : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 3, 3, 7, 7, 5, 5}, Case{1, 2, 2, 64, 256, 16, 16},
                     Case{1, 1, 1, 65, 257, 8, 8}, Case{2, 2, 2, 5, 300, 9, 4}, Case{1, 2, 1, 130, 3, 4, 12},
                     Case{3, 1, 1, 1, 33, 16, 16}})
    checkBoth(shape);
}

TEST(Attention, GroupedHeads) {
  for (Case shape :
       {Case{2, 4, 2, 9, 9, 8, 8}, Case{1, 6, 1, 70, 20, 8, 3}, Case{2, 6, 3, 17, 17, 4, 4, true}})
    checkBoth(shape);
}

TEST(Attention, CausalAlsoWhereSizesDiffer) {
  for (Case shape : {Case{2, 2, 2, 300, 300, 8, 8, true}, Case{1, 2, 2, 90, 40, 8, 8, true},
                     Case{1, 1, 1, 3, 520, 8, 8, true}, Case{1, 1, 1, 1, 1, 4, 4, true}})
    checkBoth(shape);
}

TEST(Attention, OperandsInOneBuffer) {
  for (bool causal : {false, true}) {
    Case shape{2, 4, 2, 75, 75, 8, 8, causal};
    shape.packed = true;
    checkBoth(shape);
  }
}

TEST(Attention, MasksAndRowsThatSeeNothing) {
  for (Mask mask : {Mask::Keys, Mask::Some, Mask::All, Mask::Added, Mask::LowKeys, Mask::InfiniteKeys})
    for (accum_hidden hidden :
         {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_INFINITE, ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED})
      for (bool causal : {false, true})
        for (int64_t length : {19, 260}) {
          SCOPED_TRACE(testing::Message() << "mask " << int(mask) << " hidden " << int(hidden) << " causal "
                                          << causal << " length " << length);
          checkBoth({2, 2, 1, length, length, 4, 3, causal, mask, hidden});
        }
}

TEST(Attention, HugeScores) {
  for (bool causal : {false, true})
    checkBoth({1, 2, 2, 80, 80, 16, 16, causal, Mask::None, ACCUM_HIDDEN_EXCLUDED, 300});
}

TEST(Attention, ANaNIsNotLost) {
  for (accum_hidden hidden : {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_LOWERED}) {
    Problem<float> problem({1, 1, 1, 6, 6, 4, 4, true, Mask::None, hidden});
    problem.qkv[0] = NAN; // of the first query, which sees one key
    problem.run();
    EXPECT_TRUE(std::isnan(problem.y[0]));
    EXPECT_TRUE(std::isfinite(problem.y[4]));
  }
}

TEST(Attention, BitsDoNotDependOnThreads) {
  Case shape{3, 4, 2, 200, 200, 16, 16, true, Mask::Keys, ACCUM_HIDDEN_LOWERED};
  Problem<float> one(shape), many(shape);
  int threads = threadCount();
  setThreads(1);
  one.run();
  setThreads(5);
  many.run();
  setThreads(threads);
  EXPECT_EQ(one.y, many.y);
  EXPECT_EQ(one.lse, many.lse);
  EXPECT_EQ(one.dqkv, many.dqkv);
}

TEST(Attention, RefusesWhatItCannotDo) {
  Problem<float> problem({1, 2, 2, 3, 3, 4, 4});
  auto refused = [&](auto change) {
    accum_attention call = problem.call;
    change(call);
    Status status = attention(call);
    return !status && status.error().exitCode == kExitRunFailed;
  };
  EXPECT_TRUE(refused([](accum_attention &call) { call.dtype = ACCUM_F16; }));
  EXPECT_TRUE(refused([](accum_attention &call) { call.groups = 3; }));
  EXPECT_TRUE(refused([](accum_attention &call) { call.keys = 0; }));
  EXPECT_TRUE(refused([](accum_attention &call) { call.k.column = 3; }));
  EXPECT_TRUE(refused([&](accum_attention &call) {
    call.mask = call.q;
    call.mask_dtype = ACCUM_F64;
  }));
}

} // namespace
