// SPDX-License-Identifier: Apache-2.0
// analyseGemm against sums over letters, on known and on random contractions.
#include "dialects/Train/GemmShape.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using accum::Gemm;

namespace {

using Extents = std::map<char, int64_t>;

std::string typeOf(const std::string &letters, const Extents &extents, const std::string &placement = "") {
  std::string text = "tensor<";
  for (char letter : letters)
    text += std::to_string(extents.at(letter)) + "x";
  return text + "f32" + placement + ">";
}

struct Contraction {
  std::string a, b, c;
  Extents extents;
};

struct GemmShapeTest : testing::Test {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  GemmShapeTest() {
    DialectRegistry registry;
    accum::registerDialects(registry);
    context.appendDialectRegistry(registry);
  }

  std::optional<Gemm> analyseTypes(const std::string &spec, const std::string &a, const std::string &b,
                                   const std::string &c) {
    std::string text = "func.func @f(%a: " + a + ", %b: " + b + ") {\n  %c = nn.contract \"" + spec +
                       "\" (%a, %b) : (" + a + ", " + b + ") -> " + c + "\n  return\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    std::optional<Gemm> gemm;
    module->walk([&](accum::nn::ContractOp contract) { gemm = accum::analyseGemm(contract); });
    return gemm;
  }

  /// The contraction of before, in rows that lie so.
  std::optional<Gemm> analyseAgain(accum::GemmPitches pitches) {
    std::optional<Gemm> gemm;
    module->walk([&](accum::nn::ContractOp contract) { gemm = accum::analyseGemm(contract, pitches); });
    return gemm;
  }

  std::optional<Gemm> analyse(const Contraction &x) {
    return analyseTypes(x.a + "," + x.b + "->" + x.c, typeOf(x.a, x.extents), typeOf(x.b, x.extents),
                        typeOf(x.c, x.extents));
  }
};

int64_t position(const std::string &letters, const Extents &extents, const Extents &at) {
  int64_t result = 0;
  for (char letter : letters)
    result = result * extents.at(letter) + at.at(letter);
  return result;
}

/// Small whole numbers: sums are exact in any order.
std::vector<double> numbers(int64_t count, int seed) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = (i * 7 + seed) % 11 - 5;
  return values;
}

int64_t count(const std::string &letters, const Extents &extents) {
  int64_t result = 1;
  for (char letter : letters)
    result *= extents.at(letter);
  return result;
}

/// Sum over all letters, one after the other.
void sumLetters(const Contraction &x, Extents::const_iterator letter, Extents &at,
                const std::function<void()> &term) {
  if (letter == x.extents.end())
    return term();
  for (int64_t i = 0; i < letter->second; ++i) {
    at[letter->first] = i;
    sumLetters(x, std::next(letter), at, term);
  }
}

std::vector<double> naive(const Contraction &x, const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> c(count(x.c, x.extents));
  Extents at;
  sumLetters(x, x.extents.begin(), at, [&] {
    c[position(x.c, x.extents, at)] += a[position(x.a, x.extents, at)] * b[position(x.b, x.extents, at)];
  });
  return c;
}

/// What accum_gemm's words say, NaN where nothing is written.
std::vector<double> run(const Gemm &gemm, const std::vector<double> &lhs, const std::vector<double> &rhs,
                        size_t size) {
  const std::vector<double> &a = gemm.a == 0 ? lhs : rhs, &b = gemm.a == 0 ? rhs : lhs;
  std::vector<double> c(size, NAN);
  int64_t points = 1;
  for (int64_t extent : gemm.batch)
    points *= extent;
  for (int64_t point = 0; point < points; ++point) {
    int64_t a0 = 0, b0 = 0, c0 = 0, rest = point;
    for (size_t d = 0; d < gemm.batch.size(); ++d) {
      int64_t i = rest % gemm.batch[d];
      rest /= gemm.batch[d];
      a0 += i * gemm.aBatch[d];
      b0 += i * gemm.bBatch[d];
      c0 += i * gemm.cBatch[d];
    }
    for (int64_t i = 0; i < gemm.m; ++i)
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < gemm.k; ++k)
          sum += a.at(a0 + i * gemm.aRow + k * gemm.aCol) * b.at(b0 + k * gemm.bRow + j * gemm.bCol);
        c.at(c0 + i * gemm.cRow + j) = sum;
      }
  }
  return c;
}

void expectLegal(const Gemm &gemm) {
  EXPECT_TRUE(gemm.aRow == 1 || gemm.aCol == 1);
  EXPECT_TRUE(gemm.bRow == 1 || gemm.bCol == 1);
  // A leading dimension covers the row (or column) that it steps over.
  EXPECT_GE(gemm.aCol == 1 ? gemm.aRow : gemm.aCol, gemm.aCol == 1 ? (gemm.m > 1 ? gemm.k : 1) : gemm.m);
  EXPECT_GE(gemm.bCol == 1 ? gemm.bRow : gemm.bCol, gemm.bCol == 1 ? (gemm.k > 1 ? gemm.n : 1) : gemm.k);
  EXPECT_GE(gemm.cRow, gemm.n);
  EXPECT_LE(gemm.batch.size(), 4u);
}

Contraction randomContraction(std::mt19937 &random) {
  Contraction x;
  for (char letter = 'a', end = 'c' + random() % 4; letter <= end; ++letter) {
    x.extents[letter] = 1 + random() % 4;
    unsigned where = random() % 4; // in a and b, a and c, b and c, all
    if (where != 2)
      x.a += letter;
    if (where != 1)
      x.b += letter;
    if (where != 0)
      x.c += letter;
  }
  for (std::string *letters : {&x.a, &x.b, &x.c})
    if (random() % 2)
      std::shuffle(letters->begin(), letters->end(), random);
  return x;
}

TEST_F(GemmShapeTest, RandomContractionsAgreeWithSums) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Contraction x = randomContraction(random);
    auto gemm = analyse(x);
    if (!gemm)
      continue;
    ++accepted;
    SCOPED_TRACE(x.a + "," + x.b + "->" + x.c);
    auto a = numbers(count(x.a, x.extents), 1), b = numbers(count(x.b, x.extents), 4);
    EXPECT_EQ(run(*gemm, a, b, count(x.c, x.extents)), naive(x, a, b));
    expectLegal(*gemm);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 400);
}

/// Elements of rows of `width`, `pitch` apart; what is between them is NaN.
std::vector<double> spread(const std::vector<double> &values, int64_t width, int64_t pitch) {
  std::vector<double> lying(values.size() / width * pitch, NAN);
  for (size_t i = 0; i < values.size(); ++i)
    lying[i / width * pitch + i % width] = values[i];
  return lying;
}

TEST_F(GemmShapeTest, RowsThatLieApart) {
  std::mt19937 random(2);
  int accepted = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Contraction x = randomContraction(random);
    accum::GemmPitches pitches = {0, 0, 0};
    std::array<int64_t, 3> widths = {1, 1, 1};
    for (auto [i, letters] : llvm::enumerate(std::array{x.a, x.b, x.c})) {
      widths[i] = letters.empty() ? 1 : x.extents.at(letters.back());
      if (random() % 2 && widths[i] > 1)
        pitches[i] = widths[i] + random() % 3;
    }
    (void)analyse(x);
    auto gemm = analyseAgain(pitches);
    if (!gemm)
      continue;
    ++accepted;
    SCOPED_TRACE(x.a + "," + x.b + "->" + x.c);
    auto lying = [&](size_t i, const std::vector<double> &values) {
      return pitches[i] == 0 ? values : spread(values, widths[i], pitches[i]);
    };
    auto a = numbers(count(x.a, x.extents), 1), b = numbers(count(x.b, x.extents), 4);
    std::vector<double> expected = lying(2, naive(x, a, b)),
                        actual = run(*gemm, lying(0, a), lying(1, b), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(expected[i] == actual[i] || (std::isnan(expected[i]) && std::isnan(actual[i]))) << i;
    expectLegal(*gemm);
    if (HasFailure())
      return;
  }
  EXPECT_GT(accepted, 300);
}

TEST_F(GemmShapeTest, LogitsInPaddedRows) {
  Contraction logits{"bsk", "nk", "bsn", {{'b', 2}, {'s', 5}, {'k', 4}, {'n', 7}}};
  ASSERT_TRUE(analyse(logits));
  auto gemm = analyseAgain({0, 0, 8});
  ASSERT_TRUE(gemm);
  EXPECT_EQ(std::tuple(gemm->m, gemm->n, gemm->k, gemm->cRow), std::tuple(10, 7, 4, 8));
  EXPECT_TRUE(gemm->batch.empty()) << "rows of samples still follow each other";
}

TEST_F(GemmShapeTest, SummedAxesThatAreNoLongerOne) {
  ASSERT_TRUE(analyse({"bst", "stn", "bn", {{'b', 2}, {'s', 5}, {'t', 7}, {'n', 4}}}));
  EXPECT_FALSE(analyseAgain({8, 0, 0}));
}

TEST_F(GemmShapeTest, LinearLayerMergesRows) {
  auto gemm = analyse({"bsk", "kn", "bsn", {{'b', 2}, {'s', 5}, {'k', 3}, {'n', 7}}});
  ASSERT_TRUE(gemm);
  EXPECT_EQ(std::tuple(gemm->m, gemm->n, gemm->k), std::tuple(10, 7, 3));
  EXPECT_TRUE(gemm->batch.empty());
}

TEST_F(GemmShapeTest, WeightGradientTransposesA) {
  auto gemm = analyse({"bsk", "bsn", "kn", {{'b', 2}, {'s', 5}, {'k', 3}, {'n', 7}}});
  ASSERT_TRUE(gemm);
  EXPECT_EQ(std::tuple(gemm->m, gemm->n, gemm->k), std::tuple(3, 7, 10));
  EXPECT_EQ(std::tuple(gemm->aRow, gemm->aCol), std::tuple(1, 3));
}

TEST_F(GemmShapeTest, HeadsInTheMiddleOfARow) {
  auto gemm = analyse({"bshd", "bthd", "bhst", {{'b', 2}, {'s', 5}, {'t', 6}, {'h', 3}, {'d', 4}}});
  ASSERT_TRUE(gemm);
  EXPECT_EQ(std::tuple(gemm->m, gemm->n, gemm->k), std::tuple(5, 6, 4));
  EXPECT_EQ(gemm->aRow, 12);
  EXPECT_EQ(gemm->batch.size(), 2u);
}

TEST_F(GemmShapeTest, GroupedHeadsReadOneMatrixAgain) {
  // g query heads share a key head.
  auto gemm =
      analyse({"bhgsd", "bhtd", "bhgst", {{'b', 2}, {'h', 3}, {'g', 2}, {'s', 5}, {'t', 6}, {'d', 4}}});
  ASSERT_TRUE(gemm);
  EXPECT_EQ(std::tuple(gemm->m, gemm->n, gemm->k), std::tuple(10, 6, 4));
}

TEST_F(GemmShapeTest, Refused) {
  // Two summed letters that no single stride covers; nothing summed; a row-wise dot product.
  EXPECT_FALSE(analyse({"bks", "snk", "bn", {{'b', 2}, {'k', 3}, {'s', 5}, {'n', 7}}}));
  EXPECT_FALSE(analyse({"bk", "n", "bkn", {{'b', 2}, {'k', 3}, {'n', 7}}}));
  EXPECT_FALSE(analyse({"bk", "bk", "b", {{'b', 2}, {'k', 3}}}));
}

TEST_F(GemmShapeTest, SlabsAreDecidedForEveryMicroBatch) {
  // With one sample, s and k would merge; with more, the samples lie between them.
  EXPECT_FALSE(analyseTypes("sbk,sbkn->bn", "tensor<5x1x3xf32, #nn.batched<1>>",
                            "tensor<5x1x3x7xf32, #nn.batched<1>>", "tensor<1x7xf32, #nn.batched<0>>"));
  EXPECT_TRUE(analyseTypes("sbk,sbkn->bn", "tensor<5x1x3xf32>", "tensor<5x1x3x7xf32>", "tensor<1x7xf32>"));
  EXPECT_TRUE(analyseTypes("bsk,bsn->kn", "tensor<1x5x3xf32, #nn.batched<0>>",
                           "tensor<1x5x7xf32, #nn.batched<0>>", "tensor<3x7xf32, #nn.partial<sum>>"));
}

} // namespace
