// SPDX-License-Identifier: Apache-2.0
// The PTX kernel that a function on tensors becomes: its name, its arguments, its line in the manifest.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace accum::codegen {

/// Blocks of a launch at most.
inline constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;

/// An empty kernel before `kernel`: one pointer per operand, result and, where `kernel` has `accumulate`, the
/// flag. Its body is a return.
mlir::LLVM::LLVMFuncOp createKernelFunction(mlir::func::FuncOp kernel);

/// `tid.x` or `ctaid.x` as i32, known to be below `size`; before `end`.
mlir::Value readSpecialRegister(mlir::Operation *end, llvm::StringRef name, int64_t size);

/// Sets `accum.entry = [number, blocks, threads in a block, arguments]` and the limit on threads; a fifth
/// number is shared memory that the launch asks for, in bytes.
void describeLaunch(mlir::func::FuncOp kernel, mlir::LLVM::LLVMFuncOp function, int64_t blocks,
                    int64_t blockThreads, int64_t sharedBytes = 0);

/// Registers for `count` blocks on a multiprocessor; behind describeLaunch. By itself ptxas aims at as many
/// as there is room for, and spills a few words to get there.
void askForBlocks(mlir::LLVM::LLVMFuncOp function, int64_t count);
/// For kernels whose registers are full: ptxas would unroll their loops once more, and spill.
void keepLoops(mlir::LLVM::LLVMFuncOp function);

} // namespace accum::codegen
