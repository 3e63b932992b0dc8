// SPDX-License-Identifier: Apache-2.0
// Attention in tiles, simulated with all of the simulator's checks, against plain loops in double.
#include "test/passes/Codegen/AttentionKernelRun.h"

namespace accum::test {
namespace {

using Case = AttentionCase;
using Mask = AttentionMask;
using Problem = AttentionProblem<float>;

void run(Problem &problem) {
  accum_attention &c = problem.call;
  std::vector<void *> inputs = {c.q.data}, cotangents = {c.dq.data};
  if (!problem.shape.packed) {
    inputs.insert(inputs.end(), {c.k.data, c.v.data});
    cotangents.insert(cotangents.end(), {c.dk.data, c.dv.data});
  }
  if (c.mask.data)
    inputs.push_back(c.mask.data);
  std::vector<void *> args = inputs;
  args.insert(args.end(), {c.y.data, c.lse.data});
  ASSERT_EQ(simulate(attentionKernel(problem, false, "f32"), args), "");
  args.push_back(c.dy.data);
  args.insert(args.end(), cotangents.begin(), cotangents.end());
  ASSERT_EQ(simulate(attentionKernel(problem, true, "f32"), args), "");
}

void check(const Case &shape) {
  SCOPED_TRACE(testing::Message() << shape.batch << " samples, " << shape.heads << "/" << shape.groups
                                  << " heads, " << shape.queries << "x" << shape.keys << ", "
                                  << shape.features << " and " << shape.valueFeatures << " features, mask "
                                  << int(shape.mask) << " hidden " << int(shape.hidden)
                                  << (shape.causal ? " causal" : ""));
  Problem problem(shape);
  run(problem);
  double tolerance = 4e-6 * std::max(1.0, shape.size);
  expectNear(problem.y, problem.expectedY(), tolerance);
  expectNear(problem.dqkv, problem.expectedGradients(), tolerance);
}

TEST(AttentionKernel, Shapes) {
  for (Case shape : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 3, 3, 7, 7, 5, 5}, Case{1, 2, 2, 64, 96, 16, 16},
                     Case{1, 1, 1, 65, 70, 8, 8}, Case{2, 2, 2, 5, 40, 9, 4}, Case{1, 2, 1, 70, 3, 4, 12},
                     Case{3, 1, 1, 1, 33, 16, 16}})
    check(shape);
}

TEST(AttentionKernel, WidthsOfHeads) {
  for (int64_t width : {2, 31, 40, 64, 65, 96, 127, 128})
    check({1, 2, 1, 35, 35, width, width, true});
  check({1, 1, 1, 20, 20, 64, 128});
  check({1, 1, 1, 20, 20, 100, 24, true});
}

TEST(AttentionKernel, GroupedHeads) {
  for (Case shape :
       {Case{2, 4, 2, 9, 9, 8, 8}, Case{1, 6, 1, 70, 20, 8, 3}, Case{2, 6, 3, 17, 17, 4, 4, true}})
    check(shape);
}

TEST(AttentionKernel, CausalAlsoWhereSizesDiffer) {
  for (Case shape : {Case{2, 2, 2, 130, 130, 8, 8, true}, Case{1, 2, 2, 90, 40, 8, 8, true},
                     Case{1, 1, 1, 3, 150, 8, 8, true}, Case{1, 1, 1, 1, 1, 4, 4, true}})
    check(shape);
}

TEST(AttentionKernel, OperandsInOneBuffer) {
  for (int64_t width : {8, 6})
    for (bool causal : {false, true}) {
      Case shape{2, 4, 2, 45, 45, width, width, causal};
      shape.packed = true;
      check(shape);
    }
}

TEST(AttentionKernel, MasksAndRowsThatSeeNothing) {
  for (Mask mask : {Mask::Keys, Mask::Some, Mask::All, Mask::Added, Mask::LowKeys, Mask::InfiniteKeys})
    for (accum_hidden hidden :
         {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_INFINITE, ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED})
      for (bool causal : {false, true}) {
        int64_t length = causal ? 70 : 19; // what is behind the diagonal takes a tile
        check({2, 2, 1, length, length, 4, 3, causal, mask, hidden});
      }
}

TEST(AttentionKernel, HugeScores) {
  for (bool causal : {false, true})
    check({1, 2, 2, 80, 80, 16, 16, causal, Mask::None, ACCUM_HIDDEN_EXCLUDED, 300});
}

/// Every shape of tiles, with the most that masks ask for. Registers and shared memory are printed.
TEST(AttentionKernel, SpillsNothing) {
  for (int64_t width : {32, 64, 128})
    for (Mask mask : {Mask::None, Mask::Keys, Mask::Added})
      for (bool backward : {false, true}) {
        Problem problem({1, 4, 2, 256, 256, width, width, true, mask, ACCUM_HIDDEN_LOWERED});
        expectNoSpills(attentionKernel(problem, backward, "f32"), std::to_string(width) +
                                                                      (backward ? " backward" : " forward") +
                                                                      ", mask " + std::to_string(int(mask)));
      }
}

TEST(AttentionKernel, ANaNIsNotLost) {
  for (accum_hidden hidden : {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_LOWERED}) {
    Problem problem({1, 1, 1, 6, 6, 4, 4, true, Mask::None, hidden});
    problem.qkv[0] = NAN; // of the first query, which sees one key
    run(problem);
    EXPECT_TRUE(std::isnan(problem.y[0]));
    EXPECT_TRUE(std::isfinite(problem.y[4]));
  }
}

} // namespace
} // namespace accum::test
