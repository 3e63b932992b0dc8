// SPDX-License-Identifier: Apache-2.0
// LLVM IR -> PTX -> machine code of a card.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace accum::emit {

/// LLVM's NVPTX code generator for an architecture such as sm_80. Products and sums are not contracted: a
/// GPU's bits are the simulator's.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createPtxMachine(llvm::StringRef architecture);

/// Optimises `module`, which then holds what the PTX text was made of.
llvm::Error writePtx(llvm::Module &module, llvm::TargetMachine &machine, std::string &ptx);

/// NVIDIA's assembler: on PATH, in CUDA_HOME or in /usr/local/cuda; nothing where there is none.
std::optional<std::string> findPtxas();

/// What the assembler said of a kernel's registers.
struct PtxasReport {
  std::string text;       ///< with --verbose
  int64_t spillBytes = 0; ///< over all kernels
};

/// Assembles `ptxPath` into `cubinPath`. The error holds ptxas' own words.
llvm::Expected<PtxasReport> assemblePtx(llvm::StringRef ptxas, llvm::StringRef architecture,
                                        llvm::StringRef ptxPath, llvm::StringRef cubinPath);

} // namespace accum::emit
