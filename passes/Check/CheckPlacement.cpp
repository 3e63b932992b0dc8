// SPDX-License-Identifier: Apache-2.0
// Proves that the batch can be cut: every value gets a placement, or located errors say why not.
#include "passes/Check/CheckPlacement.h"
#include "dialects/NN/Boundary.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/ParameterName.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Check/Passes.h"
#include "passes/Check/PlaceOutputs.h"
#include "passes/Check/PlaceValues.h"
#include "passes/Check/Report.h"
#include "passes/Check/RowMasks.h"
#include "passes/Check/SplitBatch.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_CHECKPLACEMENT
#include "passes/Check/Passes.h.inc"

static void eraseDeadOps(func::FuncOp forward) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(forward.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Trained parameters from which no chain of floating-point values leads to the loss.
static void findUnreached(ModuleOp module, func::FuncOp forward, Verdict &verdict) {
  llvm::SetVector<Value> reached;
  reached.insert(forward.getBody().front().getTerminator()->getOperand(0));
  llvm::StringSet<> params;
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (auto load = dyn_cast_or_null<train::LoadParamOp>(op))
      params.insert(load.getParam());
    for (Value operand : op ? ValueRange(op->getOperands()) : ValueRange())
      if (isa<FloatType>(cast<RankedTensorType>(operand.getType()).getElementType()))
        reached.insert(operand);
  }
  for (auto param : module.getOps<train::ParamOp>())
    if (param.getTrained() && !params.contains(param.getSymName()))
      verdict.unreached.push_back(train::onnxName(param).str());
}

static void summarise(ModuleOp module, func::FuncOp forward, Value batchSize, Verdict &verdict) {
  for (auto total : forward.getOps<nn::TotalOp>()) {
    if (nn::isCut(total))
      continue;
    Normaliser normaliser;
    nameNode(total.getLoc(), total, normaliser.node, normaliser.opType);
    normaliser.isBatchSize = total.getResult() == batchSize;
    verdict.normalisers.push_back(normaliser);
  }
  auto shares = forward.getOps<nn::ShareOp>();
  verdict.shares = std::distance(shares.begin(), shares.end());
  findUnreached(module, forward, verdict);
}

static void place(func::FuncOp function, PlaceValues::Extent extent, Verdict &verdict) {
  PlaceValues walk(function, extent);
  walk.run();
  for (const Rejection &rejection : walk.rejections()) {
    verdict.causes.push_back(describe(rejection));
    emit(rejection.location, verdict.causes.back());
  }
}

LogicalResult checkPlacement(ModuleOp module, Verdict &verdict) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return module.emitError("has no function @forward");
  auto whole = module.lookupSymbol<func::FuncOp>(train::kWholeFunction);
  std::optional<int64_t> splitAt = whole ? train::splitBatchOf(module) : std::nullopt;
  auto scalars = forward->getAttrOfType<ArrayAttr>(train::kScalarNames);
  if (forward.isExternal() || (forward.getNumResults() != 1 + (scalars ? scalars.size() : 0) && !splitAt))
    return forward.emitError("@forward does not return a loss [no-loss]");
  eraseDeadOps(forward);
  Value valid = addRowArguments(forward);
  Value batchSize = countSamples(forward, valid);
  place(forward, splitAt ? PlaceValues::Part : PlaceValues::All, verdict);
  if (splitAt) {
    placeWhole(whole);
    place(whole, PlaceValues::All, verdict);
  }
  if (!verdict.accepted())
    return failure();
  if (splitAt) {
    Value positions = train::isOneOfSplitSizes(module) ? addPositionArgument(forward) : Value();
    joinWhole(forward, whole, *splitAt, forward.getArguments().back(), positions);
  }
  if (auto predict = module.lookupSymbol<func::FuncOp>(train::kPredictFunction))
    placeOutputs(predict, forward, verdict);
  // Sums of which only the total is used.
  eraseDeadOps(forward);
  verdict.reductions = maskRows(forward, valid);
  summarise(module, forward, batchSize, verdict);
  return success();
}

namespace {
struct CheckPlacement : impl::CheckPlacementBase<CheckPlacement> {
  void runOnOperation() override {
    Verdict verdict;
    if (failed(checkPlacement(getOperation(), verdict)))
      signalPassFailure();
  }
};
} // namespace

} // namespace accum
