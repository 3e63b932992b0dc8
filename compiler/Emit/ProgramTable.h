// SPDX-License-Identifier: Apache-2.0
// accum_program(), the one symbol of program.so.
#pragma once

#include "dialects/Device/DeviceDialect.h"
#include "llvm/IR/Module.h"

namespace accum::emit {

struct ProgramFunctions {
  llvm::Function *step, *eval, *predict; ///< predict may be null
};

/// Defines accum_program(), which returns a constant table with these functions.
void addProgramTable(llvm::Module &module, device::ProgramOp program, const ProgramFunctions &functions);

} // namespace accum::emit
