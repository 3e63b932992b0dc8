// SPDX-License-Identifier: Apache-2.0
// The fake GPU's kernels for a compiled artifact: those of its kernels.sim.so (ACCUM_FAKE_SIM), each thread
// executed and checked by the simulator. What lies between program.so and the driver is then the runtime's
// own.
#include "runtime/sim/SimKernels.h"
#include "test/runtime/cuda/fake/NormOnHost.h"
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using accum::runtime::sim::SimKernels;

SimKernels *loaded() {
  static std::unique_ptr<SimKernels> kernels = [] {
    const char *path = std::getenv("ACCUM_FAKE_SIM");
    auto found = SimKernels::load(path ? path : "");
    if (!found)
      std::fputs(accum::runtime::format(found.error()).c_str(), stderr);
    return found ? std::move(*found) : nullptr;
  }();
  return kernels.get();
}

/// The number in `kNUMBER_NAME`; what is no such symbol of the table's kernels has none.
long numberOf(const std::string &symbol, const SimKernels &kernels) {
  char *rest = nullptr;
  long number = std::strtol(symbol.c_str() + 1, &rest, 10);
  if (symbol[0] != 'k' || *rest != '_' || number >= long(kernels.count()))
    return -1;
  std::string name = kernels.kernel(uint32_t(number)).name;
  for (char &c : name)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name == rest + 1 ? number : -1;
}

} // namespace

/// Zero where the kernel ran, with the grid and block that it was compiled for, and did nothing wrong.
extern "C" int fake_kernel(const char *name, const unsigned *grid, const unsigned *block, void **parameters) {
  if (runNormKernel(name, grid[0] * block[0], parameters))
    return 0;
  SimKernels *kernels = loaded();
  long number = kernels ? numberOf(name, *kernels) : -1;
  if (number < 0) {
    std::fprintf(stderr, "fake: no kernel %s\n", name);
    return 1;
  }
  const accum_sim_kernel &kernel = kernels->kernel(uint32_t(number));
  if (grid[0] != kernel.blocks || block[0] != kernel.block_threads ||
      grid[1] * grid[2] * block[1] * block[2] != 1) {
    std::fprintf(stderr, "fake: %s is launched with another grid or block than it was compiled for\n", name);
    return 1;
  }
  std::vector<void *> args;
  for (uint32_t i = 0; i < kernel.num_operands; ++i)
    args.push_back(*static_cast<void **>(parameters[i]));
  auto status = kernels->launch(uint32_t(number), args.data());
  if (!status)
    std::fputs(accum::runtime::format(status.error()).c_str(), stderr);
  return status ? 0 : 1;
}
