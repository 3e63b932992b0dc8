// SPDX-License-Identifier: Apache-2.0
// Compiles one kernel from text and calls it as the runtime would.
#pragma once

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace accum::test {

/// Elements of a tensor in row-major order, whatever its type.
using Array = std::vector<double>;

/// How a kernel is compiled, and what its `$T` stands for.
struct Mode {
  const char *cpu; ///< null: the reference; "sim": a GPU's kernels in the simulator
  const char *type;
  double tolerance; ///< against exact arithmetic, relative to the largest element

  bool isSim() const { return cpu && std::string_view(cpu) == "sim"; }
};
void PrintTo(const Mode &mode, std::ostream *stream);
std::string nameOf(const testing::TestParamInfo<Mode> &info);

/// The reference and vectors of two widths, f32 and f64, and a simulated GPU, f32.
const std::vector<Mode> &allModes();

/// What the last call's table line said.
struct Line {
  std::string name;
  int64_t n, chunks, arguments;
};

class KernelTest : public testing::TestWithParam<Mode> {
public:
  /// Compiles `signature { body }` with `$T` replaced, runs all chunks (last one first: their order must not
  /// matter) and returns the results. Operands and results have guard bytes that must survive.
  std::vector<Array> call(const std::string &text, const std::vector<Array> &operands) {
    return call(text, operands, {}, true);
  }
  /// The same for a kernel with `accumulate`: `before` is what the results hold.
  std::vector<Array> call(const std::string &text, const std::vector<Array> &operands,
                          const std::vector<Array> &before, bool first);
  /// The sentence with which a kernel is refused.
  std::string refusal(const std::string &text);

  void expectClose(const Array &actual, const Array &expected, double factor = 1) const;

  Line line;

private:
  /// Compiles the module and runs its one kernel.
  void run(mlir::ModuleOp module, std::vector<void *> &args);
  void simulate(mlir::ModuleOp module, std::vector<void *> &args);
};

/// Deterministic numbers between -2 and 2 that f32 holds exactly.
Array numbers(size_t count, unsigned seed = 1);

} // namespace accum::test
