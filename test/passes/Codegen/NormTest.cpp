// SPDX-License-Identifier: Apache-2.0
// Softmax, norms and cross-entropy, forward and as training uses them, against loops.
#include "KernelRun.h"

using namespace accum::test;

namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

class Norm : public KernelTest {};
INSTANTIATE_TEST_SUITE_P(, Norm, testing::ValuesIn(allModes()), nameOf);

std::string softmax(const std::string &type, int axis, const std::string &flag = "") {
  return "func.func private @k(%x: " + type + ") -> " + type +
         " attributes {accum.kernel = 0 : i64} {\n %y = nn.softmax (%x) {axis = " + std::to_string(axis) +
         " : i64" + flag + "} : (" + type + ") -> " + type + "\n return %y : " + type + " }";
}

/// Softmax of x[begin], x[begin + stride], ...
void softmaxLine(Array &x, int begin, int count, int stride) {
  double largest = -kInf, sum = 0;
  for (int j = 0; j < count; ++j)
    largest = std::max(largest, x[begin + j * stride]);
  for (int j = 0; j < count; ++j)
    sum += x[begin + j * stride] = std::exp(x[begin + j * stride] - largest);
  for (int j = 0; j < count; ++j)
    x[begin + j * stride] /= sum;
}

TEST_P(Norm, SoftmaxOfRows) {
  for (int columns : {1, 5, 16, 37, 128, 9001}) {
    Array x = numbers(7 * columns), expected = x;
    x[0] = expected[0] = 60;
    for (int i = 0; i < 7; ++i)
      softmaxLine(expected, i * columns, columns, 1);
    expectClose(call(softmax("tensor<7x" + std::to_string(columns) + "x$T>", 1), {x})[0], expected, 2);
    // A row is never cut: its result may lie where its operand does.
    if (columns > 1)
      EXPECT_EQ(line.n, 7);
  }
}

TEST_P(Norm, SoftmaxOfAnOuterAxis) {
  Array x = numbers(3 * 6 * 20), expected = x;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 20; ++j)
      softmaxLine(expected, i * 120 + j, 6, 20);
  expectClose(call(softmax("tensor<3x6x20x$T>", 1), {x})[0], expected, 2);
}

TEST_P(Norm, LogSoftmax) {
  Array x = numbers(4 * 19), expected = x;
  for (int i = 0; i < 4; ++i)
    softmaxLine(expected, i * 19, 19, 1);
  for (double &v : expected)
    v = std::log(v);
  expectClose(call(softmax("tensor<4x19x$T>", 1, ", log"), {x})[0], expected);
}

TEST_P(Norm, SoftmaxWithMaskedElements) {
  // Masked elements get exact zeros; a row that is masked throughout is NaN, as exp(-inf - -inf) is.
  Array x = numbers(3 * 20);
  for (int j = 0; j < 20; ++j) {
    x[20 + j] = j < 3 ? x[20 + j] : -kInf;
    x[40 + j] = -kInf;
  }
  Array expected = x;
  softmaxLine(expected, 0, 20, 1);
  softmaxLine(expected, 20, 20, 1);
  for (int j = 0; j < 20; ++j)
    expected[40 + j] = kNaN;
  expectClose(call(softmax("tensor<3x20x$T>", 1), {x})[0], expected, 2);
}

TEST_P(Norm, SoftmaxDerivative) {
  std::string text = R"(func.func private @k(%y: tensor<5x23x$T>, %dy: tensor<5x23x$T>) -> tensor<5x23x$T>
      attributes {accum.kernel = 0 : i64} {
    %p = nn.elementwise <mul> (%y, %dy) : (tensor<5x23x$T>, tensor<5x23x$T>) -> tensor<5x23x$T>
    %s = nn.reduce <sum> (%p) {axes = array<i64: 1>} : (tensor<5x23x$T>) -> tensor<5x$T>
    %c = nn.reshape %s : tensor<5x$T> -> tensor<5x1x$T>
    %d = nn.elementwise <sub> (%dy, %c) : (tensor<5x23x$T>, tensor<5x1x$T>) -> tensor<5x23x$T>
    %x = nn.elementwise <mul> (%y, %d) : (tensor<5x23x$T>, tensor<5x23x$T>) -> tensor<5x23x$T>
    return %x : tensor<5x23x$T> })";
  Array y = numbers(115, 1), dy = numbers(115, 2), expected;
  for (int i = 0; i < 115; ++i) {
    double sum = 0;
    for (int j = i / 23 * 23; j < i / 23 * 23 + 23; ++j)
      sum += y[j] * dy[j];
    expected.push_back(y[i] * (dy[i] - sum));
  }
  expectClose(call(text, {y, dy})[0], expected, 2);
}

struct Moments {
  Array mean, rstd, normal;
};
Moments momentsOf(const Array &x, int rows, int columns, bool centre) {
  Moments m;
  for (int i = 0; i < rows; ++i) {
    double mean = 0, square = 0;
    for (int j = 0; j < columns; ++j)
      mean += centre ? x[i * columns + j] / columns : 0;
    for (int j = 0; j < columns; ++j)
      square += std::pow(x[i * columns + j] - mean, 2) / columns;
    m.mean.push_back(mean);
    m.rstd.push_back(1 / std::sqrt(square + 1e-5));
    for (int j = 0; j < columns; ++j)
      m.normal.push_back((x[i * columns + j] - mean) * m.rstd.back());
  }
  return m;
}

TEST_P(Norm, LayerNorm) {
  std::string text = R"(func.func private @k(%x: tensor<2x3x37x$T>, %g: tensor<37x$T>, %b: tensor<37x$T>)
      -> (tensor<2x3x37x$T>, tensor<2x3x$T>, tensor<2x3x$T>) attributes {accum.kernel = 0 : i64} {
    %y, %m, %r = nn.layer_norm (%x scale %g bias %b) {axis = 2 : i64, eps = 1.0e-5}
        : (tensor<2x3x37x$T>, tensor<37x$T>, tensor<37x$T>)
        -> (tensor<2x3x37x$T>, tensor<2x3x$T>, tensor<2x3x$T>)
    return %y, %m, %r : tensor<2x3x37x$T>, tensor<2x3x$T>, tensor<2x3x$T> })";
  Array x = numbers(222, 1), g = numbers(37, 2), b = numbers(37, 3), expected;
  for (double &v : x)
    v += 30; // a mean that is large against the deviation
  Moments m = momentsOf(x, 6, 37, true);
  for (int i = 0; i < 222; ++i)
    expected.push_back(m.normal[i] * g[i % 37] + b[i % 37]);
  auto results = call(text, {x, g, b});
  expectClose(results[0], expected, 8);
  expectClose(results[1], m.mean);
  expectClose(results[2], m.rstd, 2);
  EXPECT_EQ(line.n, 6);
}

TEST_P(Norm, LayerNormOverTwoAxesWithoutScale) {
  std::string text = R"(func.func private @k(%x: tensor<3x4x5x$T>)
      -> (tensor<3x4x5x$T>, tensor<3x$T>, tensor<3x$T>) attributes {accum.kernel = 0 : i64} {
    %y, %m, %r = nn.layer_norm (%x) {axis = 1 : i64, eps = 1.0e-5}
        : (tensor<3x4x5x$T>) -> (tensor<3x4x5x$T>, tensor<3x$T>, tensor<3x$T>)
    return %y, %m, %r : tensor<3x4x5x$T>, tensor<3x$T>, tensor<3x$T> })";
  Array x = numbers(60);
  Moments m = momentsOf(x, 3, 20, true);
  auto results = call(text, {x});
  expectClose(results[0], m.normal, 4);
  expectClose(results[1], m.mean, 4);
  expectClose(results[2], m.rstd, 4);
}

TEST_P(Norm, RmsNorm) {
  std::string text = R"(func.func private @k(%x: tensor<6x32x$T>, %g: tensor<32x$T>)
      -> (tensor<6x32x$T>, tensor<6x$T>) attributes {accum.kernel = 0 : i64} {
    %y, %r = nn.rms_norm (%x scale %g) {axis = 1 : i64, eps = 1.0e-5}
        : (tensor<6x32x$T>, tensor<32x$T>) -> (tensor<6x32x$T>, tensor<6x$T>)
    return %y, %r : tensor<6x32x$T>, tensor<6x$T> })";
  Array x = numbers(192, 1), g = numbers(32, 2), expected;
  Moments m = momentsOf(x, 6, 32, false);
  for (int i = 0; i < 192; ++i)
    expected.push_back(m.normal[i] * g[i % 32]);
  auto results = call(text, {x, g});
  expectClose(results[0], expected, 2);
  expectClose(results[1], m.rstd, 2);
}

TEST_P(Norm, WeightGradientsOfANorm) {
  // Two sums of columns with their prologue, added to what is there.
  std::string text = R"(func.func private @k(%x: tensor<9x70x$T>, %mean: tensor<9x$T>, %rstd: tensor<9x$T>,
      %dy: tensor<9x70x$T>) -> (tensor<70x$T>, tensor<70x$T>)
      attributes {accum.kernel = 0 : i64, accumulate = array<i64: 0, 1>} {
    %m = nn.reshape %mean : tensor<9x$T> -> tensor<9x1x$T>
    %r = nn.reshape %rstd : tensor<9x$T> -> tensor<9x1x$T>
    %c = nn.elementwise <sub> (%x, %m) : (tensor<9x70x$T>, tensor<9x1x$T>) -> tensor<9x70x$T>
    %n = nn.elementwise <mul> (%c, %r) : (tensor<9x70x$T>, tensor<9x1x$T>) -> tensor<9x70x$T>
    %p = nn.elementwise <mul> (%n, %dy) : (tensor<9x70x$T>, tensor<9x70x$T>) -> tensor<9x70x$T>
    %dg = nn.reduce <sum> (%p) {axes = array<i64: 0>} : (tensor<9x70x$T>) -> tensor<70x$T>
    %db = nn.reduce <sum> (%dy) {axes = array<i64: 0>} : (tensor<9x70x$T>) -> tensor<70x$T>
    return %dg, %db : tensor<70x$T>, tensor<70x$T> })";
  Array x = numbers(630, 1), mean = numbers(9, 2), rstd = numbers(9, 3), dy = numbers(630, 4);
  Array dg = numbers(70, 5), db = numbers(70, 6), before[] = {dg, db};
  for (int i = 0; i < 630; ++i) {
    dg[i % 70] += (x[i] - mean[i / 70]) * rstd[i / 70] * dy[i];
    db[i % 70] += dy[i];
  }
  auto results = call(text, {x, mean, rstd, dy}, {before[0], before[1]}, false);
  expectClose(results[0], dg, 4);
  expectClose(results[1], db, 4);
}

TEST_P(Norm, RowsAndColumnsInOneKernel) {
  // A result of rows and a result of columns have loops of their own.
  std::string text =
      R"(func.func private @k(%x: tensor<40x33x$T>) -> (tensor<33x$T>, tensor<40x33x$T>, tensor<40x$T>)
      attributes {accum.kernel = 0 : i64} {
    %c = nn.reduce <sum> (%x) {axes = array<i64: 0>} : (tensor<40x33x$T>) -> tensor<33x$T>
    %r = nn.reduce <max> (%x) {axes = array<i64: 1>} : (tensor<40x33x$T>) -> tensor<40x$T>
    %s = nn.reshape %r : tensor<40x$T> -> tensor<40x1x$T>
    %y = nn.elementwise <sub> (%x, %s) : (tensor<40x33x$T>, tensor<40x1x$T>) -> tensor<40x33x$T>
    return %c, %y, %r : tensor<33x$T>, tensor<40x33x$T>, tensor<40x$T> })";
  Array x = numbers(40 * 33), columns(33), rows(40, -kInf), shifted;
  for (int i = 0; i < 40 * 33; ++i) {
    columns[i % 33] += x[i];
    rows[i / 33] = std::max(rows[i / 33], x[i]);
  }
  for (int i = 0; i < 40 * 33; ++i)
    shifted.push_back(x[i] - rows[i / 33]);
  auto results = call(text, {x});
  expectClose(results[0], columns);
  expectClose(results[1], shifted);
  EXPECT_EQ(results[2], rows);
}

const char *kCrossEntropy = R"(func.func private @k(%x: tensor<4x37x$T>, %l: tensor<4xi64>)
    -> (tensor<4x$T>, tensor<4x$T>) attributes {accum.kernel = 0 : i64} {
  %y, %e = nn.cross_entropy (%x, %l) {ignore_index = -100 : i64}
      : (tensor<4x37x$T>, tensor<4xi64>) -> (tensor<4x$T>, tensor<4x$T>)
  return %y, %e : tensor<4x$T>, tensor<4x$T> })";

TEST_P(Norm, CrossEntropy) {
  Array x = numbers(4 * 37), labels = {0, 36, -100, 5}, loss, lse;
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int j = 0; j < 37; ++j)
      sum += std::exp(x[i * 37 + j]);
    lse.push_back(std::log(sum));
    loss.push_back(labels[i] < 0 ? 0 : lse[i] - x[i * 37 + static_cast<int>(labels[i])]);
  }
  auto results = call(kCrossEntropy, {x, labels});
  expectClose(results[0], loss, 2);
  expectClose(results[1], lse, 2);
  EXPECT_EQ(results[0][2], 0);
}

TEST_P(Norm, CrossEntropyDerivative) {
  std::string text = R"(func.func private @k(%x: tensor<4x37x$T>, %l: tensor<4xi64>, %e: tensor<4x$T>,
      %d: tensor<4x$T>) -> tensor<4x37x$T> attributes {accum.kernel = 0 : i64} {
    %y = nn.cross_entropy_grad (%x, %l, %e, %d) {ignore_index = -100 : i64}
        : (tensor<4x37x$T>, tensor<4xi64>, tensor<4x$T>, tensor<4x$T>) -> tensor<4x37x$T>
    return %y : tensor<4x37x$T> })";
  Array x = numbers(4 * 37), labels = {0, 36, -100, 5}, lse = {4, 4.5, kInf, 5}, scale = {1, -2, kNaN, 0.5},
        expected;
  for (int i = 0; i < 4 * 37; ++i) {
    int row = i / 37, column = i % 37;
    double slope = std::exp(x[i] - lse[row]) - (column == labels[row]);
    expected.push_back(labels[row] < 0 ? 0 : slope * scale[row]);
  }
  expectClose(call(text, {x, labels, lse, scale})[0], expected, 2);
}

} // namespace
