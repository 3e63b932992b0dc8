// SPDX-License-Identifier: Apache-2.0
// The linear regression of test/passes/Schedule/linear-regression.mlir: its program for any micro-batch size,
// and a runtime of a few lines that executes it with kernels written by hand.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/accum_program.h"
#include <array>
#include <string>
#include <vector>

namespace accum::test {

/// Parses the module with another micro-batch size and runs the schedule passes.
mlir::OwningOpRef<mlir::ModuleOp> scheduleLinearRegression(mlir::MLIRContext &context, int64_t m);

struct Samples {
  std::vector<std::array<float, 3>> x;
  std::vector<std::array<float, 2>> t;
};
Samples makeSamples(size_t count);

/// Where things lie in the state of this model.
enum LinearState {
  kW = 0,
  kB = 256,
  kGradW = 512,
  kGradB = 768,
  kMomentumW = 1024,
  kMomentumB = 1280,
  kLoss = 1536,
  kTargets = 1792,
  kStateBytes = 2048
};

/// State, scratch and inputs of one process. `log` records the calls.
class ToyRuntime {
public:
  ToyRuntime(mlir::ModuleOp module, int64_t m, Samples samples);

  /// Runs a step over all samples; the program's result.
  int step(const accum_program_v1 &program, uint64_t number);
  int eval(const accum_program_v1 &program);

  template <typename T> T *state(size_t offset) { return reinterpret_cast<T *>(stateBytes.data() + offset); }
  std::vector<uint8_t> stateBytes;
  std::string log;
  std::string failAt; ///< the call that fails: a kernel's name, "gemm", "begin", "all_reduce"

private:
  static ToyRuntime &of(accum_ctx *ctx) { return *static_cast<ToyRuntime *>(ctx->self); }
  int note(const std::string &what);
  static int beginMicro(accum_ctx *, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid);
  static int endMicro(accum_ctx *, uint32_t phase, uint32_t k);
  static int launch(accum_ctx *, uint32_t kernel, void *const *args);
  static int gemm(accum_ctx *, const accum_gemm *, float beta);
  static int allReduce(accum_ctx *, void *data, uint64_t n, int32_t dtype);
  static int inspectGradients(accum_ctx *, const void *data, uint64_t n, int32_t dtype, int32_t isPart,
                              int32_t last);
  static int zero(accum_ctx *, void *data, uint64_t bytes);
  static int copy(accum_ctx *, void *target, const void *source, uint64_t bytes);
  accum_ctx context(uint64_t step);
  uint32_t steps() const { return static_cast<uint32_t>((samples.x.size() + m - 1) / m); }

  size_t m;
  Samples samples;
  std::vector<std::string> kernels; ///< names by number
  std::vector<uint8_t> scratch;
  accum_runtime_v1 table;
  // The rows of one micro-step.
  std::vector<float> x, t;
  std::vector<uint8_t> valid;
  int64_t firstRow = 0;
  uint8_t *inputs[4];
};

} // namespace accum::test
