// SPDX-License-Identifier: Apache-2.0
// What a kernel's command promises about its arguments, for those who check it.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llvm {
class Constant;
class Module;
} // namespace llvm

namespace accum::emit {

/// accum_operand (runtime/accum_operands.h).
struct KernelOperand {
  uint64_t bytes = 0;
  uint32_t access = 0;
  uint64_t row = 0, pitch = 0;
};

/// Operands, results and, where `kernel` has `accumulate`, the flag.
std::vector<KernelOperand> operandsOf(mlir::func::FuncOp kernel);

/// The address of an array of accum_operand in `module`.
llvm::Constant *constantOperands(llvm::Module &module, llvm::ArrayRef<KernelOperand> operands);

} // namespace accum::emit
