// SPDX-License-Identifier: Apache-2.0
// Kernels of a scheduled module -> kernels.so.
#pragma once

#include "compiler/Emit/KernelOperands.h"
#include <string>

namespace accum::emit {

struct KernelOptions {
  std::string cpu = "native"; ///< see targetCpuNamed (compiler/Emit/Objects.h)
  bool reference = false;     ///< scalar code, libm, one chunk per kernel: the oracle of the vector code
};

/// Compiles every function of `module` that has `accum.kernel = N` (its line in the table; 0 .. count - 1,
/// each once) and writes a shared object to `path` that exports accum_kernels() and accum_operands()
/// (runtime/accum_program.h, runtime/accum_operands.h).
/// `module` is not changed. Errors are reported on the kernel or the module.
mlir::LogicalResult compileKernels(mlir::ModuleOp module, const KernelOptions &options, llvm::StringRef path);

/// The table's numbers of one kernel.
struct KernelEntry {
  std::string name;
  int64_t n = 0, chunks = 1;
  int64_t arguments = 0;
  std::vector<KernelOperand> operands; ///< one for each argument
};

} // namespace accum::emit
