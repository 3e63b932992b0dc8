// SPDX-License-Identifier: Apache-2.0
// A scheduled module -> the folder that accum-run executes.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <string>
#include <vector>

namespace accum::emit {

struct ArtifactOptions {
  std::string folder; ///< MODEL.accum: made, or replaced where it is an older artifact and nothing else
  std::string model;  ///< the model's file; parameters' files are beside it
  std::string labels; ///< label convention, for people; empty: none
  std::string plan;   ///< plan.json's text
  std::vector<std::pair<std::string, std::string>> morePlans; ///< of each length: the file's name, its text
  std::string cpu = "native"; ///< see targetCpuNamed (compiler/Emit/Objects.h)
  std::vector<std::string> argv;
  int64_t batch = 0;        ///< global
  bool reference = false;   ///< kernels as scalar code, the oracle
  std::string architecture; ///< of a CUDA device, e.g. sm_90: kernels as PTX; empty: for this machine
  bool withSim = false;     ///< the CUDA kernels also as code for the simulator
  /// Writes kernels.so for the module's kernels; empty: compileKernels.
  std::function<mlir::LogicalResult(mlir::ModuleOp, llvm::StringRef path)> kernels = {};
};

/// Needs: `schedule` has run. For a CUDA device kernels.ptx holds the kernels for every card since sm_80, and
/// kernels.ARCHITECTURE.cubin those for this one where ptxas is installed. The folder appears under a
/// temporary name beside its place and is renamed when it is whole, so that a failure leaves what was there
/// before. Diagnostics: [output-not-ours] where the folder holds anything that is not ours, [output-failed]
/// where it cannot be written, [missing-weights] where a parameter's bytes are absent or not the ones that
/// were imported.
mlir::LogicalResult writeArtifact(mlir::ModuleOp module, const ArtifactOptions &options);

} // namespace accum::emit
