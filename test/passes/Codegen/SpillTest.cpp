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

} // namespace
} // namespace accum::test
