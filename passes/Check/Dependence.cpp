// SPDX-License-Identifier: Apache-2.0
// What values depend on.
#include "passes/Check/Dependence.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;

namespace accum {

static bool isTrained(Operation *op, SymbolTableCollection &symbols) {
  auto load = dyn_cast<train::LoadParamOp>(op);
  if (!load)
    return false;
  auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr());
  return !param || param.getTrained();
}

void Dependences::record(Operation *op) {
  Dependence all;
  all.onParameters = isTrained(op, symbols);
  for (Value operand : op->getOperands()) {
    Dependence one = of(operand);
    all.onParameters |= one.onParameters;
    all.onTotals |= one.onTotals;
  }
  all.onTotals |= isa<nn::TotalOp>(op);
  for (Value result : op->getResults())
    known[result] = all;
}

} // namespace accum
