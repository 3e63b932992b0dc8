// SPDX-License-Identifier: Apache-2.0
// One kernel: nn on tensors -> a function on pointers.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace accum::codegen {

/// Error on the op where an operand or a result is no plain static tensor.
mlir::LogicalResult checkStaticTypes(mlir::func::FuncOp kernel);

/// Writes `void NAME(ptr args, i64 begin, i64 end)` behind `kernel`, which computes the rows [begin, end) of
/// [0, n). Its attribute `accum.entry = [number, n, chunks, arguments]` is the kernel's line in the table
/// (accum_program.h). `lanes` is the machine's number of f32 in a vector, 1 for scalar code in one chunk.
/// Errors, on the op: what has no code ([kernel-op]), a type that is not static.
mlir::FailureOr<mlir::LLVM::LLVMFuncOp> emitKernel(mlir::func::FuncOp kernel, int64_t lanes);

} // namespace accum::codegen
