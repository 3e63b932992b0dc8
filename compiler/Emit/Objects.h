// SPDX-License-Identifier: Apache-2.0
// LLVM IR -> object file -> shared object. Knows nothing of our dialects: kernels.so and program.so both go
// through here.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace accum::emit {

/// The processor that code is generated for.
struct TargetCpu {
  std::string level;                 ///< LLVM's name of the feature level: "x86-64-v3", "x86-64-v4", ...
  std::string tune;                  ///< LLVM's name of the processor to schedule for
  std::vector<std::string> features; ///< what the code may use, named as in /proc/cpuinfo
  unsigned vectorBytes = 16;         ///< width of one vector register
};

/// `name` is "native" (the highest level that this machine has), "x86-64", "x86-64-v2", "x86-64-v3" or
/// "x86-64-v4". Errors: a name that is none of these; "native" on a processor that is not x86-64.
llvm::Expected<TargetCpu> targetCpuNamed(llvm::StringRef name);

/// A code generator of the machine that runs the compiler, position independent. One per thread: LLVM's is
/// not to be shared.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetCpu &cpu, llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

/// LLVM's pipeline for `machine`, whose triple and data layout the module has.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

/// Optimises `module`, unless the level of `machine` is None, and writes it to `objectPath`. Sets the
/// module's triple and data layout.
llvm::Error writeObject(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef objectPath);

/// Links objects into a shared object that exports what has default visibility. libm and libc are named as
/// needed only where a symbol of theirs is used. Looks for ld.lld-22, ld.lld and ld, beside LLVM and on PATH.
/// Errors: no linker; the linker's own words.
llvm::Error linkSharedObject(llvm::ArrayRef<std::string> objects, llvm::StringRef path);

/// Both steps for one module; the object is a temporary file beside `path`, which appears only when complete.
llvm::Error writeSharedObject(llvm::Module &module, const TargetCpu &cpu, llvm::CodeGenOptLevel level,
                              llvm::StringRef path);

} // namespace accum::emit
