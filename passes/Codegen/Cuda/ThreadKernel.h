// SPDX-License-Identifier: Apache-2.0
// One kernel: nn on tensors -> what one thread of a GPU runs.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace accum::codegen {

/// Writes `void SYMBOL(ptr operand or result or flag, ...)`, a PTX kernel, before `kernel`. Its attribute
/// `accum.entry = [number, blocks, threads in a block, arguments]` is the kernel's line in the manifest.
/// Errors, on the op: what has no code ([kernel-op]), a type that is not static.
mlir::LogicalResult emitThreadKernel(mlir::func::FuncOp kernel);

} // namespace accum::codegen
