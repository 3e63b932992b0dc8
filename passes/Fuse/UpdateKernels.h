// SPDX-License-Identifier: Apache-2.0
// The optimizers' formulas as kernels.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum {

/// Names of the state that an optimizer keeps per parameter; nothing for sgd.
mlir::SmallVector<llvm::StringRef> optimizerSlots(llvm::StringRef optimizer);

/// Kernel (hyper: tensor<8xf64>, decay: tensor<f64>, parameter, gradient, slots...) -> (parameter, slots...)
/// on flat tensors of `elements` elements, with PyTorch's formulas (torch.optim.SGD, Adam, AdamW,
/// single-tensor versions).
mlir::func::FuncOp buildUpdateKernel(llvm::StringRef optimizer, int64_t elements, mlir::Type element);

} // namespace accum
