// SPDX-License-Identifier: Apache-2.0
// Kernels of the sizes that are trained, as ptxas sees them.
#include "test/passes/Codegen/AttentionKernelRun.h"

namespace accum::test {
namespace {

/// Bias gradients: many rows, few and many columns.
TEST(ColumnSums, SpillNothing) {
  for (const char *columns : {"768", "3072", "50257"})
    for (const char *element : {"f32", "bf16"}) {
      std::string rows = std::string("131072x") + columns, in = "tensor<" + rows + "x" + element + ">",
                  wide = "tensor<" + rows + "xf32>", out = std::string("tensor<") + columns + "xf32>";
      std::string text = "func.func private @sum(%a: " + in + ") -> " + out +
                         " attributes {accum.kernel = 0 : i64} {\n  %w = nn.cast %a : " + in + " -> " + wide +
                         "\n  %s = nn.reduce <sum> (%w) {axes = array<i64: 0>} : (" + wide + ") -> " + out +
                         "\n  return %s : " + out + "\n}\n";
      expectNoSpills(text, std::string("sum of ") + columns + " columns of " + element);
    }
}

/// Weights' gradients: sums of products, and two sums at once.
TEST(ColumnSums, OfProductsSpillNothing) {
  for (const char *columns : {"768", "4096"}) {
    std::string x = std::string("tensor<131072x") + columns + "xf32>",
                out = std::string("tensor<") + columns + "xf32>";
    std::string product = "  %p = nn.elementwise <mul> (%a, %b) : (" + x + ", " + x + ") -> " + x + "\n";
    auto sum = [&](const char *name, const char *of) {
      return std::string("  ") + name + " = nn.reduce <sum> (" + of + ") {axes = array<i64: 0>} : (" + x +
             ") -> " + out + "\n";
    };
    std::string head = "func.func private @sum(%a: " + x + ", %b: " + x + ") -> ";
    std::string attributes = " attributes {accum.kernel = 0 : i64} {\n";
    expectNoSpills(head + out + attributes + product + sum("%s", "%p") + "  return %s : " + out + "\n}\n",
                   std::string("sum of products of ") + columns);
    expectNoSpills(head + "(" + out + ", " + out + ")" + attributes + product + sum("%s", "%p") +
                       sum("%t", "%a") + "  return %s, %t : " + out + ", " + out + "\n}\n",
                   std::string("two sums of ") + columns);
  }
}

} // namespace
} // namespace accum::test
