// SPDX-License-Identifier: Apache-2.0
// accum_program(), the one symbol of program.so.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "llvm/IR/Module.h"

namespace accum::emit {

/// Defines accum_program(), which returns a constant table with these two functions.
void addProgramTable(llvm::Module &module, device::ProgramOp program, llvm::Function *step,
                     llvm::Function *eval);

} // namespace accum::emit
