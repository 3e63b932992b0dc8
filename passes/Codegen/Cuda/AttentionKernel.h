// SPDX-License-Identifier: Apache-2.0
// One kernel: an attention, or its derivative, in tiles that never leave the multiprocessor.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum::codegen {

/// The same as emitThreadKernel (passes/Codegen/Cuda/ThreadKernel.h), for a kernel that holds an attention
/// with the views around it. Errors, on the op: one that has no tiles (dialects/Train/AttentionShape.h:
/// fitsTiles), or operands without strides ([kernel-op]).
mlir::LogicalResult emitAttentionKernel(mlir::func::FuncOp kernel);

} // namespace accum::codegen
