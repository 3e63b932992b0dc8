// SPDX-License-Identifier: Apache-2.0
// Every function of nn.elementwise, broadcasting, casts, constants and iota against the C library.
#include "KernelRun.h"
#include <numbers>

using namespace accum::test;

namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

void expectNotOnGpu(const std::string &refusal) {
  EXPECT_NE(refusal.find("is not built for GPUs [unsupported]"), std::string::npos) << refusal;
}

std::string unary(const std::string &fn, size_t count, const std::string &result = "$T") {
  std::string size = std::to_string(count) + "x";
  return "func.func private @k(%x: tensor<" + size + "$T>) -> tensor<" + size + result +
         "> attributes {accum.kernel = 0 : i64} {\n %y = nn.elementwise <" + fn + "> (%x) : (tensor<" + size +
         "$T>) -> tensor<" + size + result + ">\n return %y : tensor<" + size + result + ">\n}";
}

std::string binary(const std::string &fn, const std::string &type, size_t count, const std::string &result) {
  std::string size = "tensor<" + std::to_string(count) + "x", in = size + type + ">",
              out = size + result + ">";
  return "func.func private @k(%a: " + in + ", %b: " + in + ") -> " + out +
         " attributes {accum.kernel = 0 : i64} {\n %y = nn.elementwise <" + fn + "> (%a, %b) : (" + in +
         ", " + in + ") -> " + out + "\n return %y : " + out + "\n}";
}

Array map(const Array &x, const std::function<double(double)> &f) {
  Array y;
  for (double v : x)
    y.push_back(f(v));
  return y;
}

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

class Elementwise : public KernelTest {
public:
  void check(const std::string &fn, const Array &x, const std::function<double(double)> &f) {
    SCOPED_TRACE(fn);
    expectClose(call(unary(fn, x.size()), {x})[0], map(x, f), 2);
  }
  /// Each value relative to itself.
  void checkRatios(const std::string &fn, const Array &x, const std::function<double(double)> &f,
                   double factor) {
    SCOPED_TRACE(fn);
    Array y = call(unary(fn, x.size()), {x})[0];
    for (size_t i = 0; i < y.size(); ++i)
      y[i] /= f(x[i]);
    expectClose(y, Array(x.size(), 1), factor);
  }
};
INSTANTIATE_TEST_SUITE_P(, Elementwise, testing::ValuesIn(allModes()), nameOf);

TEST_P(Elementwise, Arithmetic) {
  Array x = numbers(37);
  x[3] = 0;
  x[5] = 2.5;
  x[6] = -3.5;
  check("neg", x, [](double v) { return -v; });
  check("abs", x, [](double v) { return std::abs(v); });
  check("sign", x, [](double v) { return (v > 0) - (v < 0); });
  check("floor", x, [](double v) { return std::floor(v); });
  check("ceil", x, [](double v) { return std::ceil(v); });
  check("round", x, [](double v) { return std::nearbyint(v); });
  check("relu", x, [](double v) { return std::max(v, 0.0); });
}

TEST_P(Elementwise, Exponentials) {
  Array x = numbers(53, 2);
  x[0] = -80;
  x[1] = 80;
  x[2] = 0;
  Array modest = numbers(53, 3);
  check("exp", modest, [](double v) { return std::exp(v); });
  check("tanh", x, [](double v) { return std::tanh(v); });
  check("sigmoid", x, sigmoid);
  check("silu", modest, [](double v) { return v * sigmoid(v); });
  check("softplus", x, [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); });
  check("silu_grad", modest, [](double v) { return sigmoid(v) * (1 + v * (1 - sigmoid(v))); });
  check("gelu_tanh", modest, geluTanh);
  check("gelu_tanh_grad", modest, [](double v) {
    double u = std::sqrt(2 / M_PI) * (v + 0.044715 * std::pow(v, 3)), cosh = std::cosh(u);
    return 0.5 * (1 + std::tanh(u)) +
           0.5 * v / (cosh * cosh) * std::sqrt(2 / M_PI) * (1 + 0.134145 * std::pow(v, 2));
  });
}

TEST_P(Elementwise, Erf) {
  Array x = numbers(41, 4);
  x[0] = -9;
  x[1] = 9;
  check("erf", x, [](double v) { return std::erf(v); });
  check("gelu", x, [](double v) { return v * normal(v); });
  check("gelu_grad", x, [](double v) { return normal(v) + v * density(v); });
}

TEST_P(Elementwise, RootsAndLogarithms) {
  Array x = map(numbers(35, 5), [](double v) { return static_cast<float>(std::abs(v) + 0.01); });
  check("log", x, [](double v) { return std::log(v); });
  check("sqrt", x, [](double v) { return std::sqrt(v); });
  check("rsqrt", x, [](double v) { return 1 / std::sqrt(v); });
  check("reciprocal", x, [](double v) { return 1 / v; });
}

double softplus(double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }

double crossEntropy(double logarithm, double complement, double target) {
  return (target - 1) * std::max(complement, -100.0) - target * std::max(logarithm, -100.0);
}

TEST_P(Elementwise, DigitsNearZero) {
  Array x(36);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::pow(10, -static_cast<double>(i)) * (i % 2 ? -0.5 : 0.5));
  Array positive = map(x, [](double v) { return std::abs(v); });
  checkRatios("expm1", x, [](double v) { return std::expm1(v); }, 4);
  checkRatios("log1p", positive, [](double v) { return std::log1p(v); }, 4);
  checkRatios("asin", x, [](double v) { return std::asin(v); }, 4);
  checkRatios("atan", x, [](double v) { return std::atan(v); }, 4);
  checkRatios("log_erfc", x, [](double v) { return std::log1p(-std::erf(v)); }, 8);
}

/// From 10 on by the continued fraction 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ...)))).
double erfcx(double v) {
  if (v < 10) {
    long double x = v;
    return static_cast<double>(std::exp(x * x) * std::erfc(x));
  }
  double rest = v;
  for (int k = 60; k > 0; --k)
    rest = v + k / 2.0 / rest;
  return std::numbers::inv_sqrtpi / rest;
}

/// 2 x erfcx(x) - 2 / sqrt(pi), from 30 on by its asymptotic series.
double erfcxGrad(double v) {
  if (v < 4) {
    long double x = v, two = 2;
    return static_cast<double>(two * x * std::exp(x * x) * std::erfc(x) - two / std::sqrt(std::acos(-1.0L)));
  }
  if (v < 30) { // the same continued fraction: 2 x / rest - 2 = -2 (rest - x) / rest
    double tail = 0;
    for (int k = 200; k > 0; --k)
      tail = k / 2.0 / (v + tail);
    return -2 * std::numbers::inv_sqrtpi * tail / (v + tail);
  }
  double term = 1, sum = 0;
  for (int k = 1; k < 10; ++k)
    sum += term *= -(2 * k - 1) / (2 * v * v);
  return 2 * std::numbers::inv_sqrtpi * sum;
}

TEST_P(Elementwise, ErrorFunctionsInTheirTails) {
  Array x, right;
  for (double v = 0.001; v < 1e9; v *= 1.3)
    right.push_back(static_cast<float>(v));
  for (double v = -9; v < 9; v += 0.37)
    x.push_back(static_cast<float>(v));
  // A card's exponential is off by 2^-24 of its argument, 81.
  double factor = GetParam().isSim() ? 60 : 8;
  checkRatios("erfc", x, [](double v) { return std::erfc(v); }, factor);
  checkRatios("erfcx", x, erfcx, factor);
  checkRatios("erfcx", right, erfcx, 8);
  checkRatios("erfcx_grad", right, erfcxGrad, 16);
  checkRatios("erfcx_grad", x, erfcxGrad, factor * 2);
  checkRatios(
      "log_erfc", right, [](double v) { return v < 9 ? std::log(std::erfc(v)) : std::log(erfcx(v)) - v * v; },
      16);
  checkRatios(
      "log_erfc", x, [](double v) { return v < 0.5 ? std::log1p(-std::erf(v)) : std::log(std::erfc(v)); }, 8);
}

TEST_P(Elementwise, ArcFunctions) {
  Array x, wide;
  for (double v = 1e-7; v < 1; v *= 1.7)
    for (double at : {v, -v, 1 - v, v - 1})
      x.push_back(static_cast<float>(at));
  x.insert(x.end(), {0.5, -0.5});
  for (double v = 1e-30; v < 1e30; v *= v > 0.1 && v < 10 ? 1.01 : 3.7)
    wide.insert(wide.end(), {static_cast<float>(v), static_cast<float>(-v)});
  checkRatios("asin", x, [](double v) { return std::asin(v); }, 4);
  checkRatios("acos", x, [](double v) { return std::acos(v); }, 4);
  checkRatios("atan", wide, [](double v) { return std::atan(v); }, 4);
  Array ends = {1, -1, 0, kNaN, 2};
  check("asin", ends, [](double v) { return std::asin(v); });
  check("acos", ends, [](double v) { return std::acos(v); });
  check("atan", {kInf, -kInf, 0, kNaN}, [](double v) { return std::atan(v); });
}

TEST_P(Elementwise, AngleOfAPoint) {
  Array y, x, expected;
  for (double a : {0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 2.5e30, -1e20, 0.3})
    for (double b : {0.0, -0.0, 1.0, -1.0, 1e-30, -3e30, 0.2, -7.0}) {
      y.push_back(static_cast<float>(a));
      x.push_back(static_cast<float>(b));
      expected.push_back(std::atan2(y.back(), x.back()));
    }
  expectClose(call(binary("atan2", "$T", y.size(), "$T"), {y, x})[0], expected, 2);
}

TEST_P(Elementwise, BinaryCrossEntropies) {
  Array x{-120, -99, -36, -17, -1, 0, 0.5, 2, 15, 17, 20, 36, 37, 90, 120}, t, p, ofLogit, ofProbability;
  for (size_t i = 0; i < x.size(); ++i) {
    t.push_back(i % 3 / 2.0);
    p.push_back(static_cast<float>(i == 1 ? 0 : i == 2 ? 1 : sigmoid(x[i] / 50)));
    double complement = x[i] >= 53 * std::numbers::ln2 ? -100 : -softplus(x[i]);
    ofLogit.push_back(crossEntropy(-softplus(-x[i]), complement, t[i]));
    ofProbability.push_back(crossEntropy(std::log(p[i]), std::log1p(-p[i]), t[i]));
  }
  std::string type = std::string("$T");
  expectClose(call(binary("sigmoid_cross_entropy", type, x.size(), type), {x, t})[0], ofLogit, 2);
  expectClose(call(binary("binary_cross_entropy", type, x.size(), type), {p, t})[0], ofProbability, 2);
}

TEST_P(Elementwise, Trigonometry) {
  Array x = map(numbers(35, 6), [](double v) { return static_cast<float>(v * 200); });
  check("sin", x, [](double v) { return std::sin(v); });
  check("cos", x, [](double v) { return std::cos(v); });
}

TEST_P(Elementwise, NotFinite) {
  Array x = {kInf, -kInf, kNaN, 0, 1, -1};
  check("exp", x, [](double v) { return std::exp(v); });
  check("tanh", x, [](double v) { return std::tanh(v); });
  check("relu", x, [](double v) { return std::isnan(v) ? v : std::max(v, 0.0); });
  check("log", x, [](double v) { return v < 0 ? kNaN : std::log(v); });
  EXPECT_EQ(call(unary("is_nan", 6, "i1"), {x})[0], (Array{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(call(unary("is_inf", 6, "i1"), {x})[0], (Array{1, 1, 0, 0, 0, 0}));
}

TEST_P(Elementwise, TanhKeepsDigitsNearZero) {
  Array x;
  for (double v = 1e-30; v < 20; v *= 1.37)
    x.insert(x.end(), {static_cast<float>(v), static_cast<float>(-v)});
  x.insert(x.end(), {0.59999, 0.6, 0.60001, 0});
  for (double &v : x)
    v = static_cast<float>(v);
  Array y = call(unary("tanh", static_cast<int>(x.size())), {x})[0];
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], std::tanh(x[i]), std::abs(std::tanh(x[i])) * GetParam().tolerance) << x[i];
}

TEST_P(Elementwise, WeightsOfMaskedElementsAreZero) {
  // A denormal instead would make every product that reads it slow.
  Array y = call(unary("exp", 4), {{-kInf, -3e38, -1000, 0}})[0];
  EXPECT_EQ(y, (Array{0, 0, 0, 1}));
  Array edge = {88.5, 88.72, -87.25, 1e-20};
  for (double &x : edge)
    x = static_cast<float>(x);
  Array powers = call(unary("exp", 4), {edge})[0];
  for (int i = 0; i < 4; ++i) {
    // A card's instruction takes a power of two, and the product with log2(e) is rounded.
    double rounding = GetParam().isSim() ? std::ldexp(std::abs(edge[i]), -24) : 0;
    EXPECT_NEAR(powers[i] / std::exp(edge[i]), 1, GetParam().tolerance + rounding);
  }
}

TEST_P(Elementwise, Binary) {
  Array a = numbers(19, 7), b = numbers(19, 8);
  a[4] = b[4] = 1;
  auto check = [&](const std::string &fn, const std::function<double(double, double)> &f) {
    SCOPED_TRACE(fn);
    if (GetParam().isSim() && (fn == "rem" || fn == "mod")) {
      expectNotOnGpu(refusal(binary(fn, "$T", 19, "$T")));
      return;
    }
    Array expected;
    for (size_t i = 0; i < a.size(); ++i)
      expected.push_back(f(a[i], b[i]));
    expectClose(call(binary(fn, "$T", 19, "$T"), {a, b})[0], expected);
  };
  check("add", [](double x, double y) { return x + y; });
  check("sub", [](double x, double y) { return x - y; });
  check("mul", [](double x, double y) { return x * y; });
  check("div", [](double x, double y) { return x / y; });
  check("min", [](double x, double y) { return std::min(x, y); });
  check("max", [](double x, double y) { return std::max(x, y); });
  check("rem", [](double x, double y) { return std::fmod(x, y); });
  check("mod", [](double x, double y) { return x - y * std::floor(x / y); });
}

TEST_P(Elementwise, Powers) {
  Array a = map(numbers(19, 7), [](double v) { return std::abs(v); }), b = numbers(19, 8), expected;
  for (size_t i = 0; i < a.size(); ++i)
    expected.push_back(std::pow(a[i], b[i]));
  if (GetParam().isSim())
    expectNotOnGpu(refusal(binary("pow", "$T", 19, "$T")));
  else
    expectClose(call(binary("pow", "$T", 19, "$T"), {a, b})[0], expected, 4);
  Array bases = {2, -3, 7, 1, -1, -1, 5, 0, 0}, exponents = {10, 3, 0, 90, 91, -4, -1, 0, 70};
  EXPECT_EQ(call(binary("pow", "i64", 9, "i64"), {bases, exponents})[0],
            (Array{1024, -27, 1, 1, -1, 1, 0, 1, 0}));
}

TEST_P(Elementwise, PowersKnownAtCompileTime) {
  Array x = map(numbers(18, 9), [](double v) { return std::abs(v) + 0.25; });
  for (double exponent : {2.0, 3.0, 0.5, -0.5, -1.0, 1.7}) {
    std::string text = R"(func.func private @k(%x: tensor<18x$T>) -> tensor<18x$T>
        attributes {accum.kernel = 0 : i64} {
      %e = nn.constant {value = dense<)" +
                       std::to_string(exponent) + R"(> : tensor<$T>} : tensor<$T>
      %y = nn.elementwise <pow> (%x, %e) : (tensor<18x$T>, tensor<$T>) -> tensor<18x$T>
      return %y : tensor<18x$T> })";
    if (GetParam().isSim() && exponent == 1.7)
      expectNotOnGpu(refusal(text));
    else
      expectClose(call(text, {x})[0], map(x, [&](double v) { return std::pow(v, exponent); }), 4);
  }
}

TEST_P(Elementwise, Integers) {
  Array a = {7, -7, 7, -7, 5, -9223372036854775808.0}, b = {2, 2, -2, -2, 0, -1};
  auto finite = [&](const std::string &fn) { return call(binary(fn, "i64", 6, "i64"), {a, b})[0]; };
  Array quotient = finite("div"), remainder = finite("rem"), modulo = finite("mod");
  quotient.resize(4);
  remainder.resize(4);
  modulo.resize(4);
  EXPECT_EQ(quotient, (Array{3, -3, -3, 3}));
  EXPECT_EQ(remainder, (Array{1, -1, 1, -1}));
  EXPECT_EQ(modulo, (Array{1, 1, -1, -1}));
}

TEST_P(Elementwise, Comparisons) {
  Array a = {1, 2, 3, kNaN, 2}, b = {2, 2, 2, 2, kNaN};
  auto check = [&](const std::string &fn, const Array &expected) {
    EXPECT_EQ(call(binary(fn, "$T", 5, "i1"), {a, b})[0], expected) << fn;
  };
  check("eq", {0, 1, 0, 0, 0});
  check("ne", {1, 0, 1, 1, 1});
  check("lt", {1, 0, 0, 0, 0});
  check("le", {1, 1, 0, 0, 0});
  check("gt", {0, 0, 1, 0, 0});
  check("ge", {0, 1, 1, 0, 0});
}

TEST_P(Elementwise, Logic) {
  Array a = {0, 0, 1, 1}, b = {0, 1, 0, 1};
  EXPECT_EQ(call(binary("logical_and", "i1", 4, "i1"), {a, b})[0], (Array{0, 0, 0, 1}));
  EXPECT_EQ(call(binary("logical_or", "i1", 4, "i1"), {a, b})[0], (Array{0, 1, 1, 1}));
  EXPECT_EQ(call(binary("logical_xor", "i1", 4, "i1"), {a, b})[0], (Array{0, 1, 1, 0}));
}

TEST_P(Elementwise, SelectHidesWhatIsNotFinite) {
  std::string text =
      R"(func.func private @k(%c: tensor<5xi1>, %a: tensor<5x$T>, %b: tensor<$T>) -> tensor<5x$T>
      attributes {accum.kernel = 0 : i64} {
    %y = nn.elementwise <select> (%c, %a, %b) : (tensor<5xi1>, tensor<5x$T>, tensor<$T>) -> tensor<5x$T>
    return %y : tensor<5x$T> })";
  EXPECT_EQ(call(text, {{1, 0, 0, 1, 0}, {1, kNaN, kInf, 4, 5}, {9}})[0], (Array{1, 9, 9, 4, 9}));
}

TEST_P(Elementwise, Broadcasting) {
  std::string text = R"(func.func private @k(%a: tensor<3x1x21x$T>, %b: tensor<2x1x$T>, %c: tensor<21x$T>)
      -> tensor<3x2x21x$T> attributes {accum.kernel = 0 : i64} {
    %s = nn.elementwise <add> (%a, %b) : (tensor<3x1x21x$T>, tensor<2x1x$T>) -> tensor<3x2x21x$T>
    %y = nn.elementwise <mul> (%s, %c) : (tensor<3x2x21x$T>, tensor<21x$T>) -> tensor<3x2x21x$T>
    return %y : tensor<3x2x21x$T> })";
  Array a = numbers(63, 1), b = numbers(2, 2), c = numbers(21, 3), expected;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 21; ++k)
        expected.push_back((a[i * 21 + k] + b[j]) * c[k]);
  expectClose(call(text, {a, b, c})[0], expected);
}

TEST_P(Elementwise, ChainOfSeveralResultsAndBlocks) {
  // Long enough for several chunks.
  std::string text = R"(func.func private @k(%a: tensor<37x3001x$T>, %b: tensor<37x3001x$T>)
      -> (tensor<37x3001x$T>, tensor<37x3001x$T>) attributes {accum.kernel = 0 : i64} {
    %s = nn.elementwise <add> (%a, %b) : (tensor<37x3001x$T>, tensor<37x3001x$T>) -> tensor<37x3001x$T>
    %p = nn.elementwise <mul> (%s, %b) : (tensor<37x3001x$T>, tensor<37x3001x$T>) -> tensor<37x3001x$T>
    return %p, %s : tensor<37x3001x$T>, tensor<37x3001x$T> })";
  Array a = numbers(37 * 3001, 1), b = numbers(37 * 3001, 2), sum, product;
  for (size_t i = 0; i < a.size(); ++i) {
    sum.push_back(a[i] + b[i]);
    product.push_back((a[i] + b[i]) * b[i]);
  }
  auto results = call(text, {a, b});
  expectClose(results[0], product);
  expectClose(results[1], sum);
  if (GetParam().cpu)
    EXPECT_GT(line.chunks, 1);
  else
    EXPECT_EQ(line.chunks, 1);
  EXPECT_EQ(line.arguments, 4);
  EXPECT_EQ(line.name, "k");
}

TEST_P(Elementwise, Casts) {
  auto text = [](const std::string &from, const std::string &to) {
    return "func.func private @k(%x: tensor<6x" + from + ">) -> tensor<6x" + to +
           "> attributes {accum.kernel = 0 : i64} {\n %y = nn.cast %x : tensor<6x" + from + "> -> tensor<6x" +
           to + ">\n return %y : tensor<6x" + to + "> }";
  };
  Array x = {0, 1, -1.75, 2.5, 100, -0.25};
  EXPECT_EQ(call(text("$T", "i64"), {x})[0], (Array{0, 1, -1, 2, 100, 0}));
  EXPECT_EQ(call(text("$T", "i1"), {x})[0], (Array{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(call(text("$T", "f64"), {x})[0], x);
  EXPECT_EQ(call(text("$T", "bf16"), {{1, 1.00390625, 1.01171875, 3, 0, -2}})[0],
            (Array{1, 1, 1.015625, 3, 0, -2}));
  EXPECT_EQ(call(text("f16", "$T"), {x})[0], x);
  EXPECT_EQ(call(text("i64", "$T"), {{3, -4, 5, 0, 1, 2}})[0], (Array{3, -4, 5, 0, 1, 2}));
  EXPECT_EQ(call(text("i1", "$T"), {{1, 0, 1, 1, 0, 0}})[0], (Array{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(call(text("i1", "i64"), {{1, 0, 1, 1, 0, 0}})[0], (Array{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(call(text("ui8", "i32"), {{255, 0, 1, 128, 7, 0}})[0], (Array{255, 0, 1, 128, 7, 0}));
  EXPECT_EQ(call(text("i8", "i32"), {{-1, 0, 1, -128, 7, 0}})[0], (Array{-1, 0, 1, -128, 7, 0}));
}

TEST_P(Elementwise, ConstantsAndIota) {
  std::string text = R"(func.func private @k() -> (tensor<2x20xi64>, tensor<2x3x$T>, tensor<3xi1>)
      attributes {accum.kernel = 0 : i64} {
    %i = nn.iota 1 : tensor<2x20xi64>
    %c = nn.constant {value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]> : tensor<2x3x$T>} : tensor<2x3x$T>
    %b = nn.constant {value = dense<[true, false, true]> : tensor<3xi1>} : tensor<3xi1>
    return %i, %c, %b : tensor<2x20xi64>, tensor<2x3x$T>, tensor<3xi1> })";
  auto results = call(text, {});
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(results[0][i], i % 20);
  EXPECT_EQ(results[1], (Array{1, 2, 3, 4, 5, 6.5}));
  EXPECT_EQ(results[2], (Array{1, 0, 1}));
}

TEST_P(Elementwise, ScalarsAndEmptyTensors) {
  std::string text =
      R"(func.func private @k(%a: tensor<$T>, %e: tensor<0x3x$T>) -> (tensor<$T>, tensor<0x3x$T>)
      attributes {accum.kernel = 0 : i64} {
    %y = nn.elementwise <add> (%a, %a) : (tensor<$T>, tensor<$T>) -> tensor<$T>
    %z = nn.elementwise <add> (%e, %a) : (tensor<0x3x$T>, tensor<$T>) -> tensor<0x3x$T>
    return %y, %z : tensor<$T>, tensor<0x3x$T> })";
  auto results = call(text, {{1.5}, {}});
  EXPECT_EQ(results[0], Array{3});
  EXPECT_TRUE(results[1].empty());
}

} // namespace
