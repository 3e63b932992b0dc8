// SPDX-License-Identifier: Apache-2.0
#include "dialects/Train/SplitBatch.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

static constexpr llvm::StringLiteral kSplitBatch = "accum.split_batch";
static constexpr llvm::StringLiteral kOneOfSplitSizes = "accum.one_of_split_sizes";

std::optional<int64_t> accum::train::splitBatchOf(Operation *module) {
  auto attr = module->getAttrOfType<IntegerAttr>(kSplitBatch);
  return attr ? std::optional(attr.getInt()) : std::nullopt;
}

void accum::train::recordSplitBatch(Operation *module, int64_t batch) {
  module->setAttr(kSplitBatch, IntegerAttr::get(IntegerType::get(module->getContext(), 64), batch));
}

bool accum::train::isOneOfSplitSizes(Operation *module) { return module->hasAttr(kOneOfSplitSizes); }

void accum::train::recordOneOfSplitSizes(Operation *module) {
  module->setAttr(kOneOfSplitSizes, UnitAttr::get(module->getContext()));
}

std::string accum::train::nameInState(PhaseOp phase, size_t result) {
  auto name = phase->getAttrOfType<StringAttr>(kLeavesInState);
  if (!name)
    return {};
  ValueRange values = phase.getYield().getValues();
  size_t first = 0;
  while (nn::behindViews(values[first]) != nn::behindViews(values[result]))
    ++first;
  return (name.getValue() + "." + std::to_string(first)).str();
}

bool accum::train::relatesSamples(PhaseOp phase) {
  auto isWhole = [](Operation &op) {
    return llvm::any_of(op.getResultTypes(), [](Type type) {
      return isa<RankedTensorType>(type) && nn::Placement::of(type).isWhole();
    });
  };
  auto module = phase->getParentOfType<ModuleOp>();
  return !phase.getLoop() && splitBatchOf(module) && llvm::any_of(phase.getBlock(), isWhole);
}

/// Of any part.
static bool isOfDerivative(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  return !accum::derivativeOf(location).empty() ||
         (fused && llvm::any_of(fused.getLocations(), isOfDerivative));
}

llvm::SetVector<Operation *> accum::train::forwardByOrigin(Block &block) {
  llvm::SetVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    auto command = dyn_cast<CommandOp>(op);
    bool ends = isa<nn::ShareOp>(op) || (command && !command.getAccumulate().empty());
    bool reads = llvm::all_of(op.getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return !producer || forward.contains(producer);
    });
    if (!ends && reads && !isOfDerivative(op.getLoc()))
      forward.insert(&op);
  }
  return forward;
}
