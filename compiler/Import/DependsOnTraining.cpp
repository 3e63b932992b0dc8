// SPDX-License-Identifier: Apache-2.0
// Looks for loads of trained parameters behind a value.
#include "compiler/Import/DependsOnTraining.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace accum::import {

bool dependsOnTraining(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [](Operation *op) {
    auto load = dyn_cast<train::LoadParamOp>(op);
    auto param = load ? SymbolTable::lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr())
                      : train::ParamOp();
    return param && param.getTrained();
  });
}

} // namespace accum::import
