// SPDX-License-Identifier: Apache-2.0
// The optimizers' formulas as kernels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Names of the state that an optimizer keeps per parameter; nothing for sgd.
mlir::SmallVector<llvm::StringRef> optimizerSlots(llvm::StringRef optimizer);

/// Kernel (hyper: tensor<8xf64>, decay: tensor<Pxf64>, parameters, gradients, slots...) -> (parameters,
/// slots...) on all P trained parameters at once, rows of 256 bytes, with PyTorch's formulas
/// (torch.optim.SGD, Adam, AdamW, single-tensor versions). Parameter i owns the rows from starts[i] to
/// starts[i + 1].
mlir::func::FuncOp buildUpdateKernel(llvm::StringRef optimizer, mlir::ArrayRef<int64_t> starts,
                                     mlir::Type element);

} // namespace accum
