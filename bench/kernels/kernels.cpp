// SPDX-License-Identifier: Apache-2.0
// Bandwidth of every kernel of a scheduled module on one thread, beside memcpy: kernels FILE.mlir [benchmark
// flags]
#include "compiler/Emit/Kernels.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Parser/Parser.h"
#include "runtime/accum_program.h"
#include <benchmark/benchmark.h>
#include <chrono>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace mlir;

namespace {

/// Memory of one tensor: floats between -1 and 1, small indices.
std::vector<uint8_t> fill(RankedTensorType type) {
  size_t width = std::max(1u, type.getElementTypeBitWidth() / 8), count = type.getNumElements();
  std::vector<uint8_t> bytes(count * width + 64);
  std::minstd_rand random(1);
  for (size_t i = 0; i < count; ++i) {
    float f32 = static_cast<float>(random()) / (1u << 30) - 1;
    double f64 = 0.5;
    int64_t index = static_cast<int64_t>(random() % (width == 1 ? 2 : 64));
    bool isFloat = isa<FloatType>(type.getElementType());
    const void *source = isFloat && width == 8   ? static_cast<const void *>(&f64)
                         : isFloat && width == 4 ? static_cast<const void *>(&f32)
                                                 : static_cast<const void *>(&index);
    std::memcpy(bytes.data() + i * width, source, width);
  }
  return bytes;
}

using Memory = std::vector<std::vector<uint8_t>>;

void call(const accum_kernel_v1 &kernel, Memory &memory) {
  std::vector<void *> args;
  for (auto &bytes : memory)
    args.push_back(bytes.data());
  uint8_t first = 1;
  args.push_back(&first);
  kernel.fn(args.data(), 0, kernel.n);
}

struct Workload {
  const accum_kernel_v1 *kernel, *reference;
  std::vector<RankedTensorType> types;
  bool gathers = false; ///< reads or writes only part of its largest tensor

  /// What must go through memory at least once.
  int64_t bytes() const {
    int64_t sum = 0, largest = 0;
    for (RankedTensorType type : types) {
      int64_t size = type.getNumElements() * std::max(1u, type.getElementTypeBitWidth() / 8);
      sum += size;
      largest = std::max(largest, size);
    }
    return gathers ? 2 * (sum - largest) : sum;
  }

  /// Largest difference from the reference over the largest element, of all f32 tensors.
  double difference(const Memory &memory, const Memory &expected) const {
    double worst = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!types[i].getElementType().isF32())
        continue;
      auto a = reinterpret_cast<const float *>(memory[i].data());
      auto b = reinterpret_cast<const float *>(expected[i].data());
      double largest = 1e-30, off = 0;
      for (int64_t j = 0; j < types[i].getNumElements(); ++j) {
        largest = std::max(largest, std::abs(static_cast<double>(b[j])));
        off = std::isnan(a[j]) != std::isnan(b[j])
                  ? 1e30
                  : std::max(off, std::abs(static_cast<double>(a[j]) - b[j]));
      }
      worst = std::max(worst, off / largest);
    }
    return worst;
  }

  void run(benchmark::State &state) const {
    Memory memory;
    for (RankedTensorType type : types)
      memory.push_back(fill(type));
    Memory expected = memory;
    call(*reference, expected);
    call(*kernel, memory);
    state.counters["difference"] = difference(memory, expected);
    for (auto _ : state)
      call(*kernel, memory);
    state.SetBytesProcessed(state.iterations() * bytes());
  }
};

void copyMemory(benchmark::State &state) {
  std::vector<uint8_t> from(state.range(0), 1), to(state.range(0));
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(2 * state.iterations() * state.range(0));
}

const accum_kernels_v1 *compile(ModuleOp module, bool reference) {
  std::string path = std::filesystem::temp_directory_path() /
                     ("bench-" + std::to_string(getpid()) + (reference ? "-reference.so" : ".so"));
  auto start = std::chrono::steady_clock::now();
  accum::emit::KernelOptions options;
  options.reference = reference;
  if (failed(accum::emit::compileKernels(module, options, path)))
    return nullptr;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(path);
  auto table = reinterpret_cast<const accum_kernels_v1 *(*)()>(dlsym(library, "accum_kernels"))();
  std::printf("%u kernels compiled in %.2f s%s\n", table->count, seconds.count(),
              reference ? ", reference" : "");
  return table;
}

std::vector<Workload> workloadsOf(ModuleOp module, const accum_kernels_v1 &table,
                                  const accum_kernels_v1 &reference) {
  std::vector<Workload> workloads;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto number = kernel->getAttrOfType<IntegerAttr>("accum.kernel");
    if (!number)
      continue;
    Workload work{table.kernels + number.getInt(), reference.kernels + number.getInt(), {}};
    for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
      work.types.push_back(cast<RankedTensorType>(type));
    kernel.walk([&](Operation *op) { work.gathers |= op->getName().getStringRef() == "nn.gather"; });
    workloads.push_back(work);
  }
  return workloads;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: bench-kernels FILE.mlir [benchmark flags]\n"), 2;
  DialectRegistry registry;
  accum::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  const accum_kernels_v1 *table = compile(*module, false), *reference = compile(*module, true);
  if (!table || !reference)
    return 1;
  for (int64_t bytes : {1 << 20, 64 << 20})
    benchmark::RegisterBenchmark("memcpy", copyMemory)->Arg(bytes);
  for (const Workload &work : workloadsOf(*module, *table, *reference))
    benchmark::RegisterBenchmark(work.kernel->name, [work](benchmark::State &state) { work.run(state); });
  int flags = argc - 1;
  argv[1] = argv[0];
  benchmark::Initialize(&flags, argv + 1);
  benchmark::RunSpecifiedBenchmarks();
}
