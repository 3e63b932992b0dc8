// SPDX-License-Identifier: Apache-2.0
// Values that the loss depends on and its gradient does not.
#include "passes/Differentiate/Detached.h"
#include "dialects/NN/Detached.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/Differentiate/Pieces.h"
#include "passes/Differentiate/StepBuilder.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

/// Whether indices do more than to read the extrema from the values that they are of, which is no jump.
static bool chooses(Value indices, Value values) {
  return llvm::any_of(indices.getUsers(), [&](Operation *user) {
    if (isa<nn::ReshapeOp>(user))
      return chooses(user->getResult(0), values);
    auto read = dyn_cast<nn::GatherElementsOp>(user);
    return !read || read.getInput() != values;
  });
}

/// A comparison of floats is a choice where its result counts as a number, or picks one of two pieces that do
/// not meet. One with a number that a float hardly ever is (a maximum of -inf, a norm of zero) is none.
static bool isChoice(nn::ElementwiseOp op) {
  Fn fn = op.getFn();
  if (fn < Fn::eq || fn > Fn::ge)
    return false;
  if ((fn == Fn::eq || fn == Fn::ne) && llvm::any_of(op.getOperands(), isNumber))
    return false;
  return llvm::any_of(op->getUses(), [&](OpOperand &use) {
    auto select = dyn_cast<nn::ElementwiseOp>(use.getOwner());
    bool picks = select && select.getFn() == Fn::select && use.getOperandNumber() == 0;
    return !picks || !piecesMeet(select, op);
  });
}

/// The operands of an elementwise op that it is constant in, but for jumps.
static SmallVector<Value> heldBack(nn::ElementwiseOp op) {
  if (nn::isDetached(op))
    return {op.getOperands()[1]};
  Fn fn = op.getFn();
  if (fn == Fn::sign || fn == Fn::floor || fn == Fn::ceil || fn == Fn::round || fn == Fn::mod ||
      fn == Fn::rem || isChoice(op))
    return op.getOperands();
  return {};
}

static SmallVector<Value> heldBack(Operation *op) {
  if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
    return heldBack(elementwise);
  if (auto cast = dyn_cast<nn::CastOp>(op); cast && !isa<FloatType>(cast.getType().getElementType()))
    return {cast.getInput()};
  if (auto top = dyn_cast<nn::TopKOp>(op); top && chooses(top.getIndices(), top.getInput()))
    return {top.getInput()};
  if (auto extremum = dyn_cast<nn::ArgReduceOp>(op);
      extremum && chooses(extremum.getResult(), extremum.getInput()))
    return {extremum.getInput()};
  return {};
}

void markDetached(func::FuncOp forward) {
  ForwardGraph graph(forward);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  for (Operation &op : forward.getBody().front())
    for (Value value : heldBack(&op))
      if (graph.active.contains(value))
        (void)getBackwardSlice(value, &slice, options);
  SymbolTableCollection symbols;
  for (Operation *op : slice)
    if (auto load = dyn_cast<train::LoadParamOp>(op))
      if (auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr());
          param.getTrained())
        param.setDetached(true);
}

} // namespace accum
