// SPDX-License-Identifier: Apache-2.0
// The files of an artifact that hold its GPU kernels.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/artifact/Manifest.h"
#include <filesystem>

namespace accum::emit {

struct CudaFilesOptions {
  std::string architecture; ///< of the card to assemble for, where ptxas is installed
  std::string cpu;          ///< that simulates; see targetCpuNamed (compiler/Emit/Objects.h)
  bool withSim = false;
};

/// Writes kernels.ptx, kernels.ARCHITECTURE.cubin and kernels.sim.so into `folder`, and fills the manifest's
/// target and kernels. Errors are reported on the module: what compileCudaKernels says, [codegen] where ptxas
/// refuses the PTX, [output-failed].
mlir::LogicalResult writeCudaFiles(mlir::ModuleOp module, const CudaFilesOptions &options,
                                   const std::filesystem::path &folder, runtime::Manifest &manifest);

} // namespace accum::emit
