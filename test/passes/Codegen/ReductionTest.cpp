// SPDX-License-Identifier: Apache-2.0
// Reductions, scans and contractions against loops.
#include "KernelRun.h"

using namespace accum::test;

namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

class Reduction : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(, Reduction, testing::ValuesIn(allModes()), nameOf);

std::string reduce(const std::string &kind, const std::string &shape, const std::string &axes,
                   const std::string &result, const std::string &type = "$T", const std::string &more = "") {
  std::string in = "tensor<" + shape + type + ">", out = "tensor<" + result + type + ">";
  return "func.func private @k(%x: " + in + ") -> " + out + " attributes {accum.kernel = 0 : i64" + more +
         "} {\n %y = nn.reduce <" + kind + "> (%x) {axes = array<i64: " + axes + ">} : (" + in + ") -> " +
         out + "\n return %y : " + out + " }";
}

TEST_P(Reduction, Rows) {
  Array x = numbers(5 * 37), sum(5), largest(5, -kInf), smallest(5, kInf), product(5, 1);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 37; ++j) {
      double v = x[i * 37 + j];
      sum[i] += v;
      largest[i] = std::max(largest[i], v);
      smallest[i] = std::min(smallest[i], v);
      product[i] *= v;
    }
  expectClose(call(reduce("sum", "5x37x", "1", "5x"), {x})[0], sum);
  EXPECT_EQ(call(reduce("max", "5x37x", "1", "5x"), {x})[0], largest);
  EXPECT_EQ(call(reduce("min", "5x37x", "1", "5x"), {x})[0], smallest);
  expectClose(call(reduce("prod", "5x37x", "1", "5x"), {x})[0], product, 4);
}

TEST_P(Reduction, ColumnsOfManyWidths) {
  for (int rows : {11, 150}) // 150 take a GPU's team, with one column to a thread or several
    for (int columns : {1, 3, 16, 64, 77, 200}) {
      Array x = numbers(rows * columns), sum(columns);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          sum[j] += x[i * columns + j];
      std::string c = std::to_string(columns) + "x";
      expectClose(call(reduce("sum", std::to_string(rows) + "x" + c, "0", c), {x})[0], sum);
    }
}

TEST_P(Reduction, OuterAndInnerAxesTogether) {
  Array x = numbers(4 * 3 * 18), sum(3), middle(4 * 18);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 18; ++k) {
        sum[j] += x[(i * 3 + j) * 18 + k];
        middle[i * 18 + k] += x[(i * 3 + j) * 18 + k];
      }
  expectClose(call(reduce("sum", "4x3x18x", "0, 2", "3x"), {x})[0], sum);
  expectClose(call(reduce("sum", "4x3x18x", "1", "4x18x"), {x})[0], middle);
}

TEST_P(Reduction, AllAxesToAScalar) {
  Array x = numbers(7 * 19);
  double sum = 0;
  for (double v : x)
    sum += v;
  expectClose(call(reduce("sum", "7x19x", "0, 1", ""), {x})[0], {sum});
}

TEST_P(Reduction, EmptyAxisGivesTheIdentity) {
  EXPECT_EQ(call(reduce("sum", "3x0x", "1", "3x"), {{}})[0], (Array{0, 0, 0}));
  EXPECT_EQ(call(reduce("max", "2x0x", "1", "2x"), {{}})[0], (Array{-kInf, -kInf}));
}

TEST_P(Reduction, LongSumsStayAccurate) {
  // A million times 0.1: summed in f32 one by one this is off by one percent.
  Array x(1 << 20, static_cast<float>(0.1));
  double exact = static_cast<double>(static_cast<float>(0.1)) * (1 << 20);
  // Eight equal terms in f32 are off by 1e-7, and so is the total of all eights.
  double bound = GetParam().isSim() ? 2e-7 : 1e-7;
  EXPECT_NEAR(call(reduce("sum", "1048576x", "0", ""), {x})[0][0], exact, exact * bound);
  EXPECT_NEAR(call(reduce("sum", "262144x4x", "0", "4x"), {x})[0][2], exact / 4, exact / 4 * bound);
}

TEST_P(Reduction, NaNComesThrough) {
  Array x = numbers(2 * 20);
  x[7] = kNaN;
  auto largest = call(reduce("max", "2x20x", "1", "2x"), {x})[0];
  EXPECT_TRUE(std::isnan(largest[0]));
  EXPECT_FALSE(std::isnan(largest[1]));
}

TEST_P(Reduction, IntegersAndFlags) {
  Array x = {5, -3, 9007199254740000.0, 1, 2, 3};
  EXPECT_EQ(call(reduce("sum", "2x3x", "1", "2x", "i64"), {x})[0], (Array{9007199254740002.0, 6}));
  EXPECT_EQ(call(reduce("max", "2x3x", "1", "2x", "i64"), {x})[0], (Array{9007199254740000.0, 3}));
  EXPECT_EQ(call(reduce("min", "2x3x", "1", "2x", "i64"), {x})[0], (Array{-3, 1}));
  EXPECT_EQ(call(reduce("max", "2x3x", "1", "2x", "i1"), {{0, 1, 0, 0, 0, 0}})[0], (Array{1, 0}));
  EXPECT_EQ(call(reduce("min", "2x3x", "1", "2x", "i1"), {{1, 1, 1, 1, 0, 1}})[0], (Array{1, 0}));
}

TEST_P(Reduction, AccumulatesIntoItsResult) {
  std::string text = reduce("sum", "6x33x", "0", "33x", "$T", ", accumulate = array<i64: 0>");
  Array x = numbers(6 * 33), before = numbers(33, 9), sum(33), both;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 33; ++j)
      sum[j] += x[i * 33 + j];
  for (int j = 0; j < 33; ++j)
    both.push_back(before[j] + sum[j]);
  expectClose(call(text, {x}, {Array(33, kNaN)}, true)[0], sum);
  expectClose(call(text, {x}, {before}, false)[0], both);
}

TEST_P(Reduction, AccumulatesAScalarBesideAnOrdinaryResult) {
  std::string text = R"(func.func private @k(%x: tensor<9x$T>) -> (tensor<9x$T>, tensor<$T>)
      attributes {accum.kernel = 0 : i64, accumulate = array<i64: 1>} {
    %y = nn.elementwise <neg> (%x) : (tensor<9x$T>) -> tensor<9x$T>
    %s = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<9x$T>) -> tensor<$T>
    return %y, %s : tensor<9x$T>, tensor<$T> })";
  Array x = numbers(9);
  double sum = 10;
  for (double v : x)
    sum += v;
  auto results = call(text, {x}, {Array(9, kNaN), {10}}, false);
  expectClose(results[1], {sum});
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(results[0][i], -x[i]);
}

TEST_P(Reduction, ArgReduceTakesTheFirst) {
  auto text = [](const std::string &kind, const std::string &axis, const std::string &result) {
    std::string out = "tensor<" + result + "xi64>";
    return "func.func private @k(%x: tensor<3x4x$T>) -> " + out +
           " attributes {accum.kernel = 0 : i64} {\n %y = nn.arg_reduce <" + kind + "> (%x) {axis = " + axis +
           " : i64} : (tensor<3x4x$T>) -> " + out + "\n return %y : " + out + " }";
  };
  Array x = {1, 5, 5, 2, -kInf, -kInf, -kInf, -kInf, 3, kNaN, 9, kNaN};
  EXPECT_EQ(call(text("max", "1", "3"), {x})[0], (Array{1, 0, 1}));
  EXPECT_EQ(call(text("min", "1", "3"), {x})[0], (Array{0, 0, 1}));
  EXPECT_EQ(call(text("max", "0", "4"), {x})[0], (Array{2, 2, 2, 2}));
}

TEST_P(Reduction, RunningSums) {
  auto text = [](const std::string &axis, const std::string &flags) {
    return "func.func private @k(%x: tensor<3x5x7x$T>) -> tensor<3x5x7x$T> attributes {accum.kernel = 0 : "
           "i64} {\n"
           " %y = nn.cumsum (%x) {axis = " +
           axis + " : i64" + flags +
           "} : (tensor<3x5x7x$T>) -> tensor<3x5x7x$T>\n return %y : tensor<3x5x7x$T> }";
  };
  Array x = numbers(105);
  int extents[] = {3, 5, 7}, strides[] = {35, 7, 1};
  for (int axis = 0; axis < 3; ++axis)
    for (int variant = 0; variant < 4; ++variant) {
      bool exclusive = variant & 1, reverse = variant & 2;
      Array expected(105);
      for (int i = 0; i < 105; ++i) {
        int here = i / strides[axis] % extents[axis];
        for (int from = 0; from < extents[axis]; ++from) {
          bool counts = reverse ? from >= here + exclusive : from <= here - exclusive;
          expected[i] += counts ? x[i + (from - here) * strides[axis]] : 0;
        }
      }
      std::string flags = std::string(exclusive ? ", exclusive" : "") + (reverse ? ", reverse" : "");
      expectClose(call(text(std::to_string(axis), flags), {x})[0], expected);
    }
}

/// By the largest of the axis for each element anew, in long double.
double logOfSum(const Array &x, int first, int stride, int from, int to) {
  long double top = -kInf, sum = 0;
  for (int k = from; k < to; ++k)
    top = std::max<long double>(top, x[first + k * stride]);
  for (int k = from; k < to; ++k)
    sum += std::exp(x[first + k * stride] - top);
  return static_cast<double>(top + std::log(sum));
}

TEST_P(Reduction, RunningLogSumExp) {
  int extents[] = {3, 5, 7}, strides[] = {35, 7, 1};
  Array x = numbers(105);
  for (double &each : x)
    each *= 100; // beyond the range of exp, in either direction
  for (int axis = 0; axis < 3; ++axis)
    for (bool reverse : {false, true})
      for (bool inside : {false, true}) {
        Array expected(105);
        for (int i = 0; i < 105; ++i) {
          int here = i / strides[axis] % extents[axis], first = i - here * strides[axis];
          double sum =
              logOfSum(x, first, strides[axis], reverse ? here : 0, reverse ? extents[axis] : here + 1);
          expected[i] = inside ? sum - x[i] : sum;
        }
        std::string type = "tensor<3x5x7x$T>", flags = reverse ? ", reverse" : "";
        std::string behind = inside ? " %y = nn.elementwise <sub> (%s, %x) : (" + type + ", " + type +
                                          ") -> " + type + "\n return %y : " + type + " }"
                                    : " return %s : " + type + " }";
        std::string text =
            "func.func private @k(%x: " + type + ") -> " + type +
            " attributes {accum.kernel = 0 : i64} {\n %s = nn.cumsum (%x) {axis = " + std::to_string(axis) +
            " : i64, log" + flags + "} : (" + type + ") -> " + type + "\n" + behind;
        expectClose(call(text, {x})[0], expected);
      }
}

TEST_P(Reduction, RunningLogSumExpNearZero) {
  std::string text = R"(func.func private @k(%x: tensor<2x$T>) -> (tensor<2x$T>, tensor<2x$T>)
      attributes {accum.kernel = 0 : i64} {
    %s = nn.cumsum (%x) {axis = 0 : i64, log} : (tensor<2x$T>) -> tensor<2x$T>
    %t = nn.cumsum (%x) {axis = 0 : i64, log} : (tensor<2x$T>) -> tensor<2x$T>
    %a = nn.elementwise <abs> (%t) : (tensor<2x$T>) -> tensor<2x$T>
    return %s, %a : tensor<2x$T>, tensor<2x$T> })";
  auto sums = call(text, {{-20, 0}});
  double expected = std::log1p(std::exp(-20.0));
  expectClose({sums[0][1] / expected}, {1}, 4);
  EXPECT_NEAR(sums[1][1] / expected, 1, 1e-6); // by its own sum of f64
}

TEST_P(Reduction, RunningLogSumExpOfInfinities) {
  std::string text =
      R"(func.func private @k(%x: tensor<6x$T>) -> tensor<6x$T> attributes {accum.kernel = 0 : i64} {
    %s = nn.cumsum (%x) {axis = 0 : i64, log} : (tensor<6x$T>) -> tensor<6x$T>
    return %s : tensor<6x$T> })";
  expectClose(call(text, {{-kInf, -kInf, -3, -kInf, kInf, 0}})[0], {-kInf, -kInf, -3, -3, kInf, kInf});
}

TEST_P(Reduction, RunningSumInsideAKernel) {
  std::string text = R"(func.func private @k(%x: tensor<3x20xi64>) -> tensor<3x20xi64>
      attributes {accum.kernel = 0 : i64} {
    %c = nn.cumsum (%x) {axis = 1 : i64} : (tensor<3x20xi64>) -> tensor<3x20xi64>
    %y = nn.elementwise <mul> (%c, %x) : (tensor<3x20xi64>, tensor<3x20xi64>) -> tensor<3x20xi64>
    return %y : tensor<3x20xi64> })";
  Array x, expected;
  for (int i = 0; i < 60; ++i)
    x.push_back(i % 3 != 0);
  for (int i = 0, sum = 0; i < 60; ++i) {
    sum = (i % 20 ? sum : 0) + x[i];
    expected.push_back(sum * x[i]);
  }
  EXPECT_EQ(call(text, {x})[0], expected);
}

std::string contract(const std::string &spec, const std::string &a, const std::string &b,
                     const std::string &c) {
  std::string types = "tensor<" + a + "$T>, %b: tensor<" + b + "$T>) -> tensor<" + c + "$T>";
  return "func.func private @k(%a: " + types +
         " attributes {accum.kernel = 0 : i64} {\n %y = nn.contract \"" + spec + "\" (%a, %b) : (tensor<" +
         a + "$T>, tensor<" + b + "$T>) -> tensor<" + c + "$T>\n return %y : tensor<" + c + "$T> }";
}

TEST_P(Reduction, Contractions) {
  const int b = 2, m = 3, n = 21, k = 17;
  Array x = numbers(b * m * k, 1), y = numbers(b * k * n, 2), expected(b * m * n);
  Array xt(x.size()), yt(y.size());
  for (int h = 0; h < b; ++h)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int l = 0; l < k; ++l) {
          expected[(h * m + i) * n + j] += x[(h * m + i) * k + l] * y[(h * k + l) * n + j];
          xt[(h * k + l) * m + i] = x[(h * m + i) * k + l];
          yt[(h * n + j) * k + l] = y[(h * k + l) * n + j];
        }
  expectClose(call(contract("bmk,bkn->bmn", "2x3x17x", "2x17x21x", "2x3x21x"), {x, y})[0], expected);
  expectClose(call(contract("bmk,bnk->bmn", "2x3x17x", "2x21x17x", "2x3x21x"), {x, yt})[0], expected);
  expectClose(call(contract("bkm,bkn->bmn", "2x17x3x", "2x17x21x", "2x3x21x"), {xt, y})[0], expected);
}

TEST_P(Reduction, ContractionOverSeveralIndicesAndNone) {
  const int m = 4, n = 5, k = 6, l = 3;
  Array x = numbers(m * k * l, 1), y = numbers(k * l * n, 2), expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int p = 0; p < k * l; ++p)
        expected[i * n + j] += x[i * k * l + p] * y[p * n + j];
  expectClose(call(contract("mkl,kln->mn", "4x6x3x", "6x3x5x", "4x5x"), {x, y})[0], expected);
  Array u = numbers(4, 3), v = numbers(5, 4), outer;
  for (double p : u)
    for (double q : v)
      outer.push_back(p * q);
  expectClose(call(contract("m,n->mn", "4x", "5x", "4x5x"), {u, v})[0], outer);
}

TEST_P(Reduction, MatrixProductsDoNotLoseDigits) {
  Array x(1 << 16, 0.1), y(1 << 16, 1);
  for (double &v : x)
    v = static_cast<float>(v);
  EXPECT_NEAR(call(contract("mk,kn->mn", "1x65536x", "65536x1x", "1x1x"), {x, y})[0][0], x[0] * 65536,
              6553.6 * 1e-7);
}

} // namespace
