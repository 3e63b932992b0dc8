// SPDX-License-Identifier: Apache-2.0
// The table that kernels.so exports, as LLVM IR.
#pragma once

#include "compiler/Emit/Kernels.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace accum::emit {

/// What a kernel's function is called, before its name.
inline constexpr llvm::StringRef kKernelPrefix = "kernel.";

/// A module that defines accum_kernels() and accum_operands(), and refers to the functions of the entries,
/// hidden symbols of other modules.
std::unique_ptr<llvm::Module> makeKernelTable(llvm::LLVMContext &context,
                                              llvm::ArrayRef<KernelEntry> entries);

} // namespace accum::emit
