// SPDX-License-Identifier: Apache-2.0
// Where the operands of an attention lie in the buffers of its command: slices, changes of shape and
// transposes around it are offsets and strides, not copies.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace accum {

/// A tensor in a row-major buffer: element strides of its axes.
struct StridedView {
  unsigned buffer = 0; ///< of the kernel's arguments, then its results
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape, strides;
};

/// `value` as it lies in an argument of the kernel that it stands in, through slices, reshapes and
/// transposes; nothing where there is another op, or a reshape has no strides.
std::optional<StridedView> viewOfOperand(mlir::Value value);

/// `value` as it lies in a result of its kernel, through reshapes, transposes and a concat; nothing also
/// where it is used otherwise, or more than once.
std::optional<StridedView> viewOfResult(mlir::Value value);

/// The one attention (forward or backward) of a kernel; null where there is none.
mlir::Operation *attentionOf(mlir::func::FuncOp kernel);

/// Whether an attention (or its derivative) has a GPU kernel of our own: f32 or bf16, and at most 256
/// features.
bool fitsTiles(mlir::Operation *attention);

/// Whether that kernel runs on tensor cores in a module of this precision: bf16, and tf32 to 128 features.
bool usesTensorCores(mlir::Operation *attention, llvm::StringRef precision);

/// The operands and results of a kernel's attention in the order of device.attention: q, k, v, the mask if
/// there is one, y, lse, and backward dy, dq, dk, dv. Four strides each; 0 along axes of extent 1. Nothing
/// where one has no view, or features that are not neighbours.
///
/// On types without batch placements the result holds for them. On slabs (`#nn.batched`) it says whether
/// there is one for every micro-batch size; its numbers are then meaningless.
std::optional<llvm::SmallVector<StridedView>> analyseAttention(mlir::func::FuncOp kernel);

} // namespace accum
