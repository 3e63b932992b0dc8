// SPDX-License-Identifier: Apache-2.0
// Attention in tiles, simulated with all of the simulator's checks, against plain loops in double: in f32
// arithmetic, and in bf16 and tf32 on tensor cores.
#include "runtime/files/ShortFloats.h"
#include "test/passes/Codegen/AttentionKernelRun.h"
#include <algorithm>
#include <gmock/gmock.h>

namespace accum::test {
namespace {

using Case = AttentionCase;
using Mask = AttentionMask;
using Problem = AttentionProblem<float>;

/// bf16 has 8 bits: a rounding is off by 2^-9 at most. y is a mean of values by weights that are rounded, and
/// is rounded: two of them. A score's cotangent is rounded, so are y in the mean that it loses, and the
/// result: four, where some cancel in sums.
constexpr double kBf16Tolerance = 1.0 / 256, kBf16GradientTolerance = 1.0 / 128;

/// tf32 has 11 bits, and rounds weights and scores' cotangents, where results and means stay as they are.
constexpr double kTf32Tolerance = 1.0 / 2048, kTf32GradientTolerance = 1.0 / 1024;

/// A buffer of a problem in bf16. It starts as what the problem holds, rounded.
class Bf16 {
public:
  explicit Bf16(std::vector<float> &values) : values(values) {
    for (float value : values)
      bits.push_back(runtime::toBf16(value));
    widen();
  }
  /// The problem gets what is here; its views stay where they are.
  void widen() { std::transform(bits.begin(), bits.end(), values.begin(), runtime::fromBf16); }
  void *at(const accum_strided &view) {
    return bits.data() + (static_cast<float *>(view.data) - values.data());
  }

private:
  std::vector<float> &values;
  std::vector<uint16_t> bits;
};

/// `at` says where a view of the problem's buffers is for the kernels.
template <typename At> void run(Problem &problem, const char *element, At at) {
  accum_attention &c = problem.call;
  std::vector<void *> args = {at(c.q)}, cotangents = {at(c.dq)};
  if (!problem.shape.packed) {
    args.insert(args.end(), {at(c.k), at(c.v)});
    cotangents.insert(cotangents.end(), {at(c.dk), at(c.dv)});
  }
  if (c.mask.data)
    args.push_back(c.mask.data);
  args.insert(args.end(), {at(c.y), c.lse.data});
  ASSERT_EQ(simulate(attentionKernel(problem, false, element), args), "");
  args.push_back(at(c.dy));
  args.insert(args.end(), cotangents.begin(), cotangents.end());
  ASSERT_EQ(simulate(attentionKernel(problem, true, element), args), "");
}

/// Inputs become what bf16 holds of them, outputs what the kernels made of these.
void runInBf16(Problem &problem) {
  accum_attention &c = problem.call;
  Bf16 qkv(problem.qkv), dy(problem.dy), y(problem.y), dqkv(problem.dqkv);
  run(problem, "bf16", [&](const accum_strided &view) {
    bool isGiven = &view == &c.q || &view == &c.k || &view == &c.v;
    return (isGiven ? qkv : &view == &c.y ? y : &view == &c.dy ? dy : dqkv).at(view);
  });
  y.widen();
  dqkv.widen();
}

void runInSingles(Problem &problem, const char *element) {
  run(problem, element, [](const accum_strided &view) { return view.data; });
}

/// The parameter: the elements of what is multiplied.
class AttentionKernel : public testing::TestWithParam<const char *> {
protected:
  bool isBf16() const { return GetParam() == std::string("bf16"); }
  bool isTf32() const { return GetParam() == std::string("tf32"); }

  void run(Problem &problem) {
    if (isBf16())
      return runInBf16(problem);
    for (auto *inputs : {&problem.qkv, &problem.dy})
      if (isTf32())
        std::transform(inputs->begin(), inputs->end(), inputs->begin(), runtime::toTf32);
    runInSingles(problem, GetParam());
  }

  double tolerance(double single) const {
    return isBf16() ? kBf16Tolerance : isTf32() ? std::max(single, kTf32Tolerance) : single;
  }
  double gradientTolerance(double single) const {
    return isBf16() ? kBf16GradientTolerance : isTf32() ? std::max(single, kTf32GradientTolerance) : single;
  }

  void check(const Case &shape) {
    SCOPED_TRACE(testing::Message() << shape.batch << " samples, " << shape.heads << "/" << shape.groups
                                    << " heads, " << shape.queries << "x" << shape.keys << ", "
                                    << shape.features << " and " << shape.valueFeatures << " features, mask "
                                    << int(shape.mask) << " hidden " << int(shape.hidden)
                                    << (shape.causal ? " causal" : ""));
    Problem problem(shape);
    run(problem);
    double single = 4e-6 * std::max(1.0, shape.size);
    expectNear(problem.y, problem.expectedY(), tolerance(single));
    expectNear(problem.dqkv, problem.expectedGradients(), gradientTolerance(single));
  }
};

TEST_P(AttentionKernel, Shapes) {
  for (Case shape : {Case{1, 1, 1, 1, 1, 1, 1}, Case{2, 3, 3, 7, 7, 5, 5}, Case{1, 2, 2, 64, 96, 16, 16},
                     Case{1, 1, 1, 65, 130, 8, 8}, Case{2, 2, 2, 5, 40, 9, 4}, Case{1, 2, 1, 140, 3, 4, 12},
                     Case{3, 1, 1, 1, 33, 16, 16}})
    check(shape);
}

TEST_P(AttentionKernel, WidthsOfHeads) {
  for (int64_t width : {2, 31, 40, 64, 65, 72, 96, 127, 128, 160, 192, 250, 256})
    check({1, 2, 1, 35, 35, width, width, true});
  check({1, 1, 1, 20, 20, 64, 128});
  check({1, 1, 1, 20, 20, 256, 40});
  check({1, 1, 1, 20, 20, 100, 24, true});
}

/// Tiles are loaded ahead while others are worked on: several of them for each head, in both stages.
TEST_P(AttentionKernel, ManyTiles) {
  for (int64_t width : {16, 64, 128, 256})
    for (bool causal : {false, true})
      check({1, 2, 1, 150, 150, width, width, causal});
}

TEST_P(AttentionKernel, GroupedHeads) {
  for (Case shape :
       {Case{2, 4, 2, 9, 9, 8, 8}, Case{1, 6, 1, 70, 20, 8, 3}, Case{2, 6, 3, 17, 17, 4, 4, true}})
    check(shape);
}

TEST_P(AttentionKernel, CausalAlsoWhereSizesDiffer) {
  for (Case shape : {Case{1, 2, 2, 260, 260, 8, 8, true}, Case{1, 2, 2, 150, 40, 8, 8, true},
                     Case{1, 1, 1, 3, 150, 8, 8, true}, Case{1, 1, 1, 1, 1, 4, 4, true}})
    check(shape);
}

TEST_P(AttentionKernel, OperandsInOneBuffer) {
  for (int64_t width : {8, 6})
    for (bool causal : {false, true}) {
      Case shape{2, 4, 2, 45, 45, width, width, causal};
      shape.packed = true;
      check(shape);
    }
}

TEST_P(AttentionKernel, MasksAndRowsThatSeeNothing) {
  for (Mask mask : {Mask::Keys, Mask::Some, Mask::All, Mask::Added, Mask::LowKeys, Mask::InfiniteKeys})
    for (accum_hidden hidden :
         {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_INFINITE, ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED})
      for (bool causal : {false, true}) {
        int64_t length = causal ? 70 : 19; // what is behind the diagonal takes a tile
        check({2, 2, 1, length, length, 4, 3, causal, mask, hidden});
      }
}

/// The second head's rounds are others than the first one's, and its tiles are loaded ahead by 16 bytes.
TEST_P(AttentionKernel, SomeTilesAreLeftOut) {
  for (accum_hidden hidden : {ACCUM_HIDDEN_LOWERED, ACCUM_HIDDEN_REPLACED})
    for (Mask mask : {Mask::Some, Mask::Keys})
      check({1, 4, 1, 150, 150, 16, 16, true, mask, hidden});
}

TEST_P(AttentionKernel, HugeScores) {
  for (bool causal : {false, true})
    check({1, 2, 2, 80, 80, 16, 16, causal, Mask::None, ACCUM_HIDDEN_EXCLUDED, 300});
}

/// Every shape of tiles, with the most that masks ask for. Registers and shared memory are printed.
TEST_P(AttentionKernel, SpillsNothing) {
  for (int64_t width : {32, 64, 80, 96, 104, 128, 136, 256})
    for (Mask mask : {Mask::None, Mask::Keys, Mask::Added})
      for (bool backward : {false, true}) {
        if (isTf32() ? width > 128
                     : width == 96 || width == 104) // f32's kernels; cotangents share blocks up to 80 in tf32
          continue;
        if (mask == Mask::Keys && width != 64 && width != 128)
          continue;
        Problem problem({1, 4, 2, 256, 256, width, width, true, mask, ACCUM_HIDDEN_LOWERED});
        expectNoSpills(attentionKernel(problem, backward, GetParam()),
                       std::to_string(width) + (backward ? " backward" : " forward") + ", mask " +
                           std::to_string(int(mask)));
      }
}

TEST_P(AttentionKernel, ANaNIsNotLost) {
  for (accum_hidden hidden : {ACCUM_HIDDEN_EXCLUDED, ACCUM_HIDDEN_LOWERED}) {
    Problem problem({1, 1, 1, 6, 6, 4, 4, true, Mask::None, hidden});
    problem.qkv[0] = NAN; // of the first query, which sees one key
    run(problem);
    EXPECT_TRUE(std::isnan(problem.y[0]));
    EXPECT_TRUE(std::isfinite(problem.y[4]));
  }
}

/// Operands that lie between numbers of tf32: they are rounded, where cards drop what is behind 10 bits.
/// Weights are equal, and powers of two.
TEST(AttentionInTf32, RoundsItsOperands) {
  for (int64_t width : {16, 6}) { // loaded by copies, and one by one
    Problem problem({1, 1, 1, 16, 16, width, width});
    std::fill(problem.qkv.begin(), problem.qkv.end(), 0.0F);
    std::fill(problem.qkv.begin() + 32 * width, problem.qkv.end(), 1 + 0x1.8p-11F); // values
    std::fill(problem.dy.begin(), problem.dy.end(), 1 + 0x1.8p-11F);
    runInSingles(problem, "tf32");
    EXPECT_THAT(problem.y, testing::Each(1 + 0x1p-10F));
    std::vector<float> dv(problem.dqkv.begin() + 32 * width, problem.dqkv.end());
    EXPECT_THAT(dv, testing::Each(1 + 0x1p-10F));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, AttentionKernel, testing::Values("f32", "bf16", "tf32"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace accum::test
