// SPDX-License-Identifier: Apache-2.0
// Looks for loads of trained parameters behind a value.
#include "compiler/Import/walk/DependsOnTraining.h"
#include "compiler/Import/walk/Meeting.h"
#include "dialects/NN/Detached.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace accum::import {

/// Comparisons and indices give none, nor does what is detached as a whole.
static bool givesGradient(Operation *op) {
  auto select = dyn_cast<nn::ElementwiseOp>(op);
  if (select && nn::isDetached(select) && select->getOperand(1) != select->getOperand(2))
    return false;
  return llvm::any_of(op->getResultTypes(),
                      [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); });
}

/// Computed from parameters by another function.
static bool isTrainedEntry(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function && function.getArgAttr(argument.getArgNumber(), kTrainedEntry);
}

bool dependsOnTraining(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = givesGradient;
  (void)getBackwardSlice(value, &slice, options);
  if (isTrainedEntry(value))
    return true;
  return llvm::any_of(slice, [](Operation *op) {
    if (llvm::any_of(op->getOperands(), isTrainedEntry))
      return true;
    auto load = dyn_cast<train::LoadParamOp>(op);
    auto param = load ? SymbolTable::lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr())
                      : train::ParamOp();
    return param && param.getTrained();
  });
}

} // namespace accum::import
