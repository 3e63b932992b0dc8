// SPDX-License-Identifier: Apache-2.0
// Every function of nn.elementwise, broadcasting, casts, constants and iota against the C library.
#include "test/passes/Codegen/ElementwiseCase.h"
#include <numbers>

using namespace accum::test;

namespace {

void expectNotOnGpu(const std::string &refusal) {
  EXPECT_NE(refusal.find("is not built for GPUs [unsupported]"), std::string::npos) << refusal;
}

double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

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
