// SPDX-License-Identifier: Apache-2.0
// A runtime that fits on a page, and the kernels of the linear regression.
#include "test/compiler/Emit/LinearRegression.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Schedule/Passes.h"
#include "test/compiler/Emit/LinearKernels.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace mlir;

namespace accum::test {

OwningOpRef<ModuleOp> scheduleLinearRegression(MLIRContext &context, int64_t m) {
  DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  auto file = llvm::MemoryBuffer::getFile(ACCUM_SOURCE_DIR "/test/passes/Schedule/linear-regression.mlir");
  std::string text = (*file)->getBuffer().str();
  size_t at = text.find("m = 2,");
  text.replace(at, 6, "m = " + std::to_string(m) + ",");
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager passes(&context);
  passes.addPass(createBindMicroBatch());
  passes.addPass(createBuildProgram());
  return module && succeeded(passes.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

Samples makeSamples(size_t count) {
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    auto number = [&](size_t j) { return static_cast<float>((i * 37 + j * 17) % 23) / 11 - 1; };
    samples.x.push_back({number(0), number(1), number(2)});
    samples.t.push_back({number(3), number(4)});
  }
  return samples;
}

ToyRuntime::ToyRuntime(ModuleOp module, int64_t m, Samples samples)
    : stateBytes(kStateBytes, 0), m(m), samples(std::move(samples)), scratch(768, 0xff),
      table{ACCUM_ABI_VERSION,
            sizeof(accum_runtime_v1),
            beginMicro,
            endMicro,
            launch,
            gemm,
            nullptr,
            allReduce,
            nullptr,
            zero,
            copy,
            nullptr, // one device starts no sums
            inspectGradients,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr, // and nothing is offloaded
            nullptr,
            nullptr,
            nullptr,
            nullptr},
      x(m * 3), t(m * 2), valid(m) {
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr("accum.kernel"))
      kernels.push_back(kernel.getSymName().str());
  for (int i = 0; i < 6; ++i)
    state<float>(kW)[i] = 0.1f * static_cast<float>(i) - 0.2f;
  state<float>(kB)[1] = 0.5f;
}

accum_ctx ToyRuntime::context(uint64_t step) {
  inputs[0] = reinterpret_cast<uint8_t *>(x.data());
  inputs[1] = reinterpret_cast<uint8_t *>(t.data());
  inputs[2] = valid.data();
  inputs[3] = reinterpret_cast<uint8_t *>(&firstRow);
  static const uint64_t rng[4] = {0, 0, 0, 0};
  static const uint8_t flags[2] = {0, 1};
  return {stateBytes.data(), scratch.data(), inputs, &table, this, 0, step, rng, flags, 0, 1,
          samples.x.size(),  nullptr};
}

int ToyRuntime::step(const accum_program_v1 &program, uint64_t number) {
  accum_ctx ctx = context(number);
  const double values[ACCUM_HYPER_COUNT] = {0.1, 0.9, 0, 0, number ? 1.0 : 0.0, 1, 1};
  accum_hyper hyper = {values, nullptr};
  return program.step(&ctx, steps(), &hyper);
}

int ToyRuntime::eval(const accum_program_v1 &program) {
  accum_ctx ctx = context(0);
  return program.eval(&ctx, steps());
}

int ToyRuntime::note(const std::string &what) {
  log += what + " ";
  return what == failAt ? 77 : 0;
}

int ToyRuntime::beginMicro(accum_ctx *ctx, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  ToyRuntime &self = of(ctx);
  for (size_t i = 0; i < self.m; ++i) {
    size_t row = k * self.m + i, real = std::min(row, self.samples.x.size() - 1);
    std::memcpy(&self.x[i * 3], self.samples.x[real].data(), 12);
    std::memcpy(&self.t[i * 2], self.samples.t[real].data(), 8);
    self.valid[i] = row < self.samples.x.size();
  }
  *firstRow = self.firstRow = static_cast<int64_t>(k * self.m);
  *valid = static_cast<uint32_t>(std::min(self.m, self.samples.x.size() - k * self.m));
  return self.note("begin" + std::to_string(phase));
}

int ToyRuntime::endMicro(accum_ctx *ctx, uint32_t phase, uint32_t) {
  return of(ctx).note("end" + std::to_string(phase));
}

int ToyRuntime::allReduce(accum_ctx *ctx, void *data, uint64_t n, int32_t dtype) {
  auto offset = static_cast<uint8_t *>(data) - of(ctx).stateBytes.data();
  of(ctx).log +=
      "sum@" + std::to_string(offset) + "x" + std::to_string(n) + ":" + std::to_string(dtype) + " ";
  return of(ctx).failAt == "all_reduce" ? 77 : 0;
}

int ToyRuntime::inspectGradients(accum_ctx *ctx, const void *data, uint64_t n, int32_t, int32_t isPart,
                                 int32_t last) {
  auto offset = static_cast<const uint8_t *>(data) - of(ctx).stateBytes.data();
  of(ctx).log += "look@" + std::to_string(offset) + "x" + std::to_string(n) + (isPart ? ":part" : "") +
                 (last ? ":last " : " ");
  return of(ctx).failAt == "inspect_gradients" ? 77 : 0;
}

int ToyRuntime::zero(accum_ctx *ctx, void *data, uint64_t bytes) {
  std::memset(data, 0, bytes);
  return of(ctx).failAt == "zero" ? 77 : 0;
}

int ToyRuntime::copy(accum_ctx *ctx, void *target, const void *source, uint64_t bytes) {
  std::memcpy(target, source, bytes);
  return of(ctx).failAt == "copy" ? 77 : 0;
}

int ToyRuntime::gemm(accum_ctx *ctx, const accum_gemm *g, float beta) {
  auto *a = static_cast<const float *>(g->a), *b = static_cast<const float *>(g->b);
  auto *c = static_cast<float *>(g->c);
  for (int64_t i = 0; i < g->m; ++i)
    for (int64_t j = 0; j < g->n; ++j) {
      float sum = beta == 0 ? 0 : c[i * g->c_row + j];
      for (int64_t k = 0; k < g->k; ++k)
        sum += a[i * g->a_row + k * g->a_col] * b[k * g->b_row + j * g->b_col];
      c[i * g->c_row + j] = sum;
    }
  return of(ctx).note("gemm");
}

int ToyRuntime::launch(accum_ctx *ctx, uint32_t kernel, void *const *args) {
  const std::string &name = of(ctx).kernels.at(kernel);
  linear::kernelNamed(name)(args, of(ctx).m);
  return of(ctx).note(name);
}

} // namespace accum::test
