// SPDX-License-Identifier: Apache-2.0
// Looks for loads of trained parameters behind a value.
#include "compiler/Import/walk/DependsOnTraining.h"
#include "dialects/NN/Detached.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"

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

bool dependsOnTraining(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = givesGradient;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [](Operation *op) {
    auto load = dyn_cast<train::LoadParamOp>(op);
    auto param = load ? SymbolTable::lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr())
                      : train::ParamOp();
    return param && param.getTrained();
  });
}

} // namespace accum::import
