// SPDX-License-Identifier: Apache-2.0
// Kernels of a scheduled module -> PTX, and the same code for the simulator.
#pragma once

#include "compiler/Emit/KernelOperands.h"
#include "runtime/artifact/Manifest.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace accum::emit {

/// The baseline: PTX for it runs on every later card.
inline constexpr llvm::StringRef kPtxArchitecture = "sm_80";

struct CudaKernel {
  runtime::KernelSpec spec;
  std::vector<KernelOperand> operands;
};

/// Compiled kernels, in the order of their numbers.
struct CudaKernels {
  std::vector<CudaKernel> kernels;
  std::shared_ptr<llvm::LLVMContext> context;
  std::shared_ptr<llvm::Module> code; ///< optimised LLVM IR for NVPTX
  std::string ptx;
};

/// Compiles every function of `module` that has `accum.kernel = N`. `module` is not changed. Errors are
/// reported on the kernel or the module: [kernel-op], [unsupported], [codegen].
mlir::FailureOr<CudaKernels> compileCudaKernels(mlir::ModuleOp module);

} // namespace accum::emit
