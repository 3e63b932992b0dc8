// SPDX-License-Identifier: Apache-2.0
// Padded rows: their pitch is larger than their width.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// On a kernel's arguments and results, by accum-pad-rows: elements from the beginning of a row (the last
/// axis) to that of the next one. The rest of the pitch belongs to nobody: it is neither written nor read.
/// Types say nothing of it. Absent: rows lie one behind the other.
inline constexpr llvm::StringLiteral kPitch = "accum.pitch";

/// 0 where rows lie one behind the other.
int64_t argumentPitch(mlir::func::FuncOp kernel, unsigned argument);
int64_t resultPitch(mlir::func::FuncOp kernel, unsigned result);
/// 0 takes a pitch away.
void setArgumentPitch(mlir::func::FuncOp kernel, unsigned argument, int64_t pitch);
void setResultPitch(mlir::func::FuncOp kernel, unsigned result, int64_t pitch);
bool hasPitch(mlir::func::FuncOp kernel);

/// Of a value between commands: what the kernel says that makes it, seen through reshapes. 0 for what no
/// command makes. `symbols` must know the kernels as they are now.
int64_t pitchOf(mlir::Value value, mlir::SymbolTableCollection &symbols);

/// Of a kernel's argument; 0 for other values.
int64_t pitchInKernel(mlir::Value value);

/// `shape` as it lies: the last extent is the pitch, where there is one.
llvm::SmallVector<int64_t> withPitch(llvm::ArrayRef<int64_t> shape, int64_t pitch);

} // namespace accum
