// SPDX-License-Identifier: Apache-2.0
// Text -> kernels.so -> call.
#include "KernelRun.h"
#include "compiler/Emit/Cuda/SimModule.h"
#include "compiler/Emit/Kernels.h"
#include "compiler/Emit/Objects.h"
#include "mlir/Parser/Parser.h"
#include "runtime/accum_program.h"
#include "runtime/sim/SimKernels.h"
#include "test/passes/Codegen/SharedContext.h"
#include "test/passes/Codegen/TensorMemory.h"
#include "llvm/IR/Module.h"
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace mlir;

namespace accum::test {
namespace {

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// "func.func private @k(ARGS) -> RESULTS attributes {accum.kernel = 0 : i64} {BODY}"
OwningOpRef<ModuleOp> parse(const std::string &text, const Mode &mode) {
  return parseSourceString<ModuleOp>(replaceAll(text, "$T", mode.type), &sharedContext());
}

bool compile(ModuleOp module, const Mode &mode, const std::string &path) {
  if (mode.isSim())
    return succeeded(emit::compileCudaKernels(module));
  emit::KernelOptions options;
  options.reference = !mode.cpu;
  if (mode.cpu)
    options.cpu = mode.cpu;
  return succeeded(emit::compileKernels(module, options, path));
}

} // namespace

void PrintTo(const Mode &mode, std::ostream *stream) {
  *stream << (mode.cpu ? mode.cpu : "reference") << " " << mode.type;
}

std::string nameOf(const testing::TestParamInfo<Mode> &info) {
  std::string cpu = info.param.cpu ? info.param.cpu : "reference";
  return replaceAll(replaceAll(cpu, "-", "_") + "_" + info.param.type, "x86_64_", "");
}

const std::vector<Mode> &allModes() {
  static const std::vector<Mode> modes = {{nullptr, "f32", 1e-6},     {nullptr, "f64", 1e-14},
                                          {"native", "f32", 1e-6},    {"native", "f64", 1e-14},
                                          {"x86-64-v2", "f32", 1e-6}, {"sim", "f32", 1e-6}};
  return modes;
}

void KernelTest::run(ModuleOp module, std::vector<void *> &args) {
  if (GetParam().isSim())
    return simulate(module, args);
  std::string path = testing::TempDir() + "accum-kernel-" + std::to_string(getpid()) + ".so";
  ASSERT_TRUE(compile(module, GetParam(), path)) << "does not compile";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(path);
  ASSERT_TRUE(library) << dlerror();
  auto table = reinterpret_cast<const accum_kernels_v1 *(*)()>(dlsym(library, "accum_kernels"))();
  EXPECT_EQ(table->count, 1u);
  const accum_kernel_v1 &kernel = table->kernels[0];
  line = {kernel.name, kernel.n, kernel.chunks, kernel.num_args};
  EXPECT_EQ(args.size(), kernel.num_args);
  runChunks(kernel, args.data());
  dlclose(library);
}

void KernelTest::simulate(ModuleOp module, std::vector<void *> &args) {
  // The loader knows libraries by name, and the simulator's stay loaded.
  static int number = 0;
  std::string path = testing::TempDir() + "accum-kernel-" + std::to_string(getpid()) + "-" +
                     std::to_string(number++) + ".sim.so";
  auto kernels = emit::compileCudaKernels(module);
  ASSERT_TRUE(succeeded(kernels)) << "does not compile";
  ASSERT_EQ(kernels->kernels.size(), 1u);
  const runtime::KernelSpec &spec = kernels->kernels[0].spec;
  line = {spec.name, spec.grid[0], spec.grid[0], spec.args};
  EXPECT_EQ(args.size(), spec.args);
  auto code = emit::simModule(*kernels);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  auto failure = emit::writeSharedObject(**code, llvm::cantFail(emit::targetCpuNamed("x86-64-v3")),
                                         llvm::CodeGenOptLevel::Less, path);
  ASSERT_FALSE(bool(failure)) << llvm::toString(std::move(failure));
  auto device = runtime::sim::SimKernels::load(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(bool(device)) << device.error().message;
  runtime::Status status = (*device)->launch(0, args.data());
  EXPECT_TRUE(bool(status)) << status.error().message;
}

std::vector<Array> KernelTest::call(const std::string &text, const std::vector<Array> &operands,
                                    const std::vector<Array> &before, bool first) {
  auto module = parse(text, GetParam());
  if (!module) {
    ADD_FAILURE() << "does not parse";
    return std::vector<Array>(8);
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<TensorMemory> memory = memoryOf(function);
  EXPECT_EQ(operands.size(), function.getNumArguments());
  for (size_t i = 0; i < operands.size() + before.size(); ++i)
    memory[i].write(i < operands.size() ? operands[i] : before[i - operands.size()]);
  std::vector<void *> args;
  for (TensorMemory &one : memory)
    args.push_back(one.data());
  uint8_t flag = first;
  if (function->hasAttr("accumulate"))
    args.push_back(&flag);
  run(*module, args);
  std::vector<Array> results;
  for (size_t i = 0; i < memory.size(); ++i) {
    EXPECT_TRUE(memory[i].guarded()) << "argument " << i << " was written outside";
    if (i >= operands.size())
      results.push_back(memory[i].read());
    else
      EXPECT_TRUE(operands[i].empty() || memory[i].guarded());
  }
  return results;
}

std::string KernelTest::refusal(const std::string &text) {
  auto module = parse(text, GetParam());
  std::string said;
  ScopedDiagnosticHandler handler(&sharedContext(), [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  if (!module || compile(*module, GetParam(), testing::TempDir() + "accum-refused.so"))
    return "";
  return said;
}

void KernelTest::expectClose(const Array &actual, const Array &expected, double factor) const {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double value : expected)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  double tolerance = factor * GetParam().tolerance * std::max(largest, 1e-30);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
    else
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
    if (HasFailure())
      return;
  }
}

Array numbers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  Array values(count);
  for (double &value : values)
    value = static_cast<float>((static_cast<double>(engine()) / 4294967296.0 - 0.5) * 4);
  return values;
}

} // namespace accum::test
