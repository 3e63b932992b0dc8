// SPDX-License-Identifier: Apache-2.0
// The fixed parts of program.cpp: its head, and the few functions that make its calls short.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "llvm/Support/raw_ostream.h"

namespace accum::emit {

/// What the file is, how to build it, includes.
void printCppHead(device::ProgramOp program, llvm::StringRef title, llvm::raw_ostream &out);

/// launch(), gemm() and flags, as far as the program needs them. `Kernel` is declared before.
void printCppHelpers(device::ProgramOp program, llvm::raw_ostream &out);

} // namespace accum::emit
