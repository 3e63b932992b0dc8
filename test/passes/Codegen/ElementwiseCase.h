// SPDX-License-Identifier: Apache-2.0
// Kernels of one function each, against a plain formula.
#pragma once
#include "KernelRun.h"
#include <cmath>
#include <functional>
#include <limits>

namespace accum::test {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

inline std::string unary(const std::string &fn, size_t count, const std::string &result = "$T") {
  std::string size = std::to_string(count) + "x";
  return "func.func private @k(%x: tensor<" + size + "$T>) -> tensor<" + size + result +
         "> attributes {accum.kernel = 0 : i64} {\n %y = nn.elementwise <" + fn + "> (%x) : (tensor<" + size +
         "$T>) -> tensor<" + size + result + ">\n return %y : tensor<" + size + result + ">\n}";
}

inline std::string binary(const std::string &fn, const std::string &type, size_t count,
                          const std::string &result) {
  std::string size = "tensor<" + std::to_string(count) + "x", in = size + type + ">",
              out = size + result + ">";
  return "func.func private @k(%a: " + in + ", %b: " + in + ") -> " + out +
         " attributes {accum.kernel = 0 : i64} {\n %y = nn.elementwise <" + fn + "> (%a, %b) : (" + in +
         ", " + in + ") -> " + out + "\n return %y : " + out + "\n}";
}

inline Array map(const Array &x, const std::function<double(double)> &f) {
  Array y;
  for (double v : x)
    y.push_back(f(v));
  return y;
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

} // namespace accum::test
