// SPDX-License-Identifier: Apache-2.0
// What depends on the sample: row masks, shared terms, and dropout against Random123's Philox4x32-10.
#include "KernelRun.h"
#include <Random123/philox.h>

using namespace accum::test;

namespace {

class Sample : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(, Sample, testing::ValuesIn(allModes()), nameOf);

TEST_P(Sample, MaskRowsHidesWhatIsNotFinite) {
  std::string text = R"(func.func private @k(%x: tensor<6x5x$T>, %v: tensor<3xi1>) -> tensor<6x5x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.mask_rows (%x, %v) {dim = 0 : i64} : (tensor<6x5x$T>, tensor<3xi1>) -> tensor<6x5x$T>
    return %y : tensor<6x5x$T> })";
  Array x = numbers(30), expected = x;
  x[12] = std::nan("");
  for (int i = 10; i < 20; ++i)
    expected[i] = 0; // sample 1: rows 2 and 3
  EXPECT_EQ(call(text, {x, {1, 0, 1}})[0], expected);
}

TEST_P(Sample, MaskRowsOnTheLastAxisWithOuterBlocks) {
  std::string text = R"(func.func private @k(%x: tensor<2x24x$T>, %v: tensor<4xi1>) -> tensor<2x24x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.mask_rows (%x, %v) {dim = 1 : i64, outer = 3 : i64} : (tensor<2x24x$T>, tensor<4xi1>) -> tensor<2x24x$T>
    return %y : tensor<2x24x$T> })";
  Array x = numbers(48), valid = {1, 0, 0, 1}, expected; // 24 = 3 x 4 samples x 2 rows
  for (int i = 0; i < 48; ++i)
    expected.push_back(valid[i % 24 / 2 % 4] ? x[i] : 0);
  EXPECT_EQ(call(text, {x, valid})[0], expected);
}

TEST_P(Sample, ShareCountsOnce) {
  std::string text = R"(func.func private @k(%x: tensor<3x$T>, %r: tensor<i64>) -> tensor<3x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.share (%x, %r) : (tensor<3x$T>, tensor<i64>) -> tensor<3x$T>
    return %y : tensor<3x$T> })";
  EXPECT_EQ(call(text, {{1, 2, 3}, {0}})[0], (Array{1, 2, 3}));
  EXPECT_EQ(call(text, {{1, 2, 3}, {7}})[0], (Array{0, 0, 0}));
}

/// The words of one element, by the published generator.
r123::Philox4x32::ctr_type wordsOf(uint64_t seed, uint64_t step, uint64_t key, uint64_t sample,
                                   uint64_t element) {
  r123::Philox4x32 generator;
  uint64_t mixed = seed ^ key;
  return generator({{static_cast<uint32_t>(element), static_cast<uint32_t>(sample),
                     static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)}},
                   {{static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)}});
}

bool kept(uint64_t seed, uint64_t step, uint64_t key, uint64_t sample, uint64_t element, double ratio) {
  return wordsOf(seed, step, key, sample, element)[0] >= ratio * 4294967296.0;
}

TEST_P(Sample, DropoutIsPhiloxOfSampleAndElement) {
  std::string text = R"(func.func private @k(%x: tensor<6x20x$T>, %rng: tensor<3xi64>, %row: tensor<i64>)
      -> tensor<6x20x$T> attributes {accum.kernel = 0 : i64} {
    %y = nn.dropout (%x, %rng, %row) {ratio = 0.25, key = 81985529216486895 : i64, dim = 0 : i64, outer = 1 : i64,
        rows = 2 : i64} : (tensor<6x20x$T>, tensor<3xi64>, tensor<i64>) -> tensor<6x20x$T>
    return %y : tensor<6x20x$T> })";
  Array x = numbers(120), expected;
  uint64_t seed = 1234567890123, step = 5000000000, first = 41;
  for (int i = 0; i < 120; ++i) {
    int row = i / 20; // sample row / 2, element (row % 2, column) of the slab 2x20
    bool keep = kept(seed, step, 81985529216486895, first + row / 2, row % 2 * 20 + i % 20, 0.25);
    expected.push_back(keep ? x[i] / 0.75 : 0);
  }
  auto run = [&](double rank) { return call(text, {x, {double(seed), double(step), 0}, {rank}})[0]; };
  expectClose(run(first), expected);
  EXPECT_NE(run(first + 1), run(first));
  // Samples before the call count like those before the micro-step.
  EXPECT_EQ(call(text, {x, {double(seed), double(step), 30}, {double(first) - 30}})[0], run(first));
}

TEST_P(Sample, DropoutDoesNotDependOnHowTheBatchIsCut) {
  auto text = [](int samples) {
    std::string type = "tensor<3x" + std::to_string(samples * 4) + "x$T>"; // slab 3x4, samples on axis 1
    return "func.func private @k(%x: " + type + ", %rng: tensor<3xi64>, %row: tensor<i64>) -> " + type +
           " attributes {accum.kernel = 0 : i64} {\n %y = nn.dropout (%x, %rng, %row) {ratio = 0.5, key = -7 "
           ": i64,"
           " dim = 1 : i64, outer = 2 : i64, rows = 2 : i64} : (" +
           type + ", tensor<3xi64>, tensor<i64>) -> " + type + "\n return %y : " + type + " }";
  };
  Array all = call(text(6), {Array(72, 1), {9, 3, 0}, {10}})[0];
  Array tail = call(text(2), {Array(24, 1), {9, 3, 0}, {14}})[0]; // the last two of the six
  for (int i = 0; i < 3; ++i)
    for (int outer = 0; outer < 2; ++outer)
      for (int j = 0; j < 4; ++j)
        EXPECT_EQ(tail[i * 8 + outer * 4 + j], all[i * 24 + outer * 12 + 8 + j]);
}

TEST_P(Sample, DropoutWithoutSamplesAndOfEverything) {
  auto text = [](const std::string &ratio) {
    return "func.func private @k(%x: tensor<50x$T>, %rng: tensor<3xi64>, %row: tensor<i64>) -> tensor<50x$T> "
           "attributes {accum.kernel = 0 : i64} {\n %y = nn.dropout (%x, %rng, %row) {ratio = " +
           ratio +
           ", key = 3 : i64} : (tensor<50x$T>, tensor<3xi64>, tensor<i64>) -> tensor<50x$T>\n"
           " return %y : tensor<50x$T> }";
  };
  Array x(50, 1), expected;
  for (int i = 0; i < 50; ++i)
    expected.push_back(kept(4, 6, 3, 0, i, 0.5) ? 2 : 0);
  EXPECT_EQ(call(text("0.5"), {x, {4, 6, 0}, {17}})[0], expected);
  EXPECT_EQ(call(text("1.0"), {Array(50, std::nan("")), {4, 6, 0}, {17}})[0], Array(50, 0));
  EXPECT_EQ(call(text("0.0"), {x, {4, 6, 0}, {17}})[0], x);
}

/// Numbers of 6 x 20 elements, two rows a sample.
std::string drawing(const std::string &attributes) {
  return "func.func private @k(%rng: tensor<3xi64>, %row: tensor<i64>) -> tensor<6x20x$T> "
         "attributes {accum.kernel = 0 : i64} {\n %y = nn.random " +
         attributes + " : tensor<6x20x$T>\n return %y : tensor<6x20x$T> }";
}
std::string drawing(const std::string &kind, const std::string &more) {
  return drawing("<" + kind + "> (%rng, %row : tensor<3xi64>, tensor<i64>) {key = 77 : i64, dim = 0 : i64, " +
                 more + "outer = 1 : i64, rows = 2 : i64}");
}

TEST_P(Sample, UniformNumbersAreThirtyTwoBitsOfPhilox) {
  Array drawn = call(drawing("uniform", ""), {{5, 9, 100}, {41}})[0];
  for (int i = 0; i < 120; ++i) {
    uint32_t word = wordsOf(5, 9, 77, 141 + i / 40, i % 40)[0];
    auto expected = static_cast<float>(word / 4294967296.0);
    EXPECT_EQ(drawn[i], std::min(expected, 1 - 0x1p-24f)) << i;
  }
}

TEST_P(Sample, NormalNumbersAreBoxMullerOfTwoWords) {
  Array drawn = call(drawing("normal", ""), {{5, 9, 0}, {41}})[0];
  for (int i = 0; i < 120; ++i) {
    auto words = wordsOf(5, 9, 77, 41 + i / 40, i % 40);
    double angle = 2 * M_PI * (words[1] / 4294967296.0);
    double expected = std::sqrt(-2 * std::log(words[0] / 4294967296.0)) * std::cos(angle);
    EXPECT_NEAR(drawn[i], expected, 2e-6) << i;
  }
}

TEST_P(Sample, MasksAndSeededNumbers) {
  Array drawn = call(drawing("mask", "ratio = 0.25, "), {{5, 9, 0}, {41}})[0], expected, seeded;
  for (int i = 0; i < 120; ++i)
    expected.push_back(kept(5, 9, 77, 41 + i / 40, i % 40, 0.25) ? 1 / 0.75 : 0);
  expectClose(drawn, expected);
  std::string text = drawing("uniform", "seeded, ");
  EXPECT_EQ(call(text, {{5, 9, 0}, {41}}), call(text, {{6, 9, 0}, {41}}));
  EXPECT_NE(call(text, {{5, 9, 0}, {41}}), call(text, {{5, 8, 0}, {41}}));
}

/// Without an axis of samples all draw the same; f64 holds f32's numbers.
TEST_P(Sample, NumbersForAllSamples) {
  std::string text = drawing("<uniform> (%rng, %row : tensor<3xi64>, tensor<i64>) {key = 77 : i64}");
  Array drawn = call(text, {{5, 9, 30}, {41}})[0];
  EXPECT_EQ(drawn, call(text, {{5, 9, 0}, {7}})[0]);
  for (int i = 0; i < 120; ++i)
    EXPECT_EQ(drawn[i], static_cast<float>(wordsOf(5, 9, 77, 0, i)[0] / 4294967296.0)) << i;
}

} // namespace
