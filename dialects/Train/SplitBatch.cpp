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

std::optional<accum::train::KeptForward> accum::train::keptForward(StepOp step) {
  KeptForward kept;
  for (PhaseOp phase : step.getPhases()) {
    if (phase->hasAttr(kRest))
      kept.encode = phase;
    else if (PhaseOp &next = phase.getLoop() ? kept.micro : kept.whole; kept.encode && !next)
      next = phase;
  }
  return kept.whole && kept.micro ? std::optional(kept) : std::nullopt;
}

accum::train::CommandOp accum::train::KeptForward::resumes() const {
  PhaseOp loop = micro, before = whole;
  auto isLeft = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(nn::behindViews(value));
    return argument && loop.sourceOf(argument).getDefiningOp() == before;
  };
  for (auto command : loop.getBlock().getOps<CommandOp>())
    if (llvm::any_of(command.getInputs(), isLeft))
      return command;
  return {};
}

bool accum::train::KeptForward::isTerm(Attribute target) const {
  return llvm::is_contained(PhaseOp(encode).getAccumulators(), target);
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

/// What the loop that goes on yields to sums that an earlier one has too.
static DenseSet<Value> termsOf(const accum::train::KeptForward &kept) {
  DenseSet<Value> terms;
  accum::train::YieldOp yield = accum::train::PhaseOp(kept.micro).getYield();
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets()))
    if (kept.isTerm(target))
      terms.insert(accum::nn::behindViews(value));
  return terms;
}

bool accum::train::KeptForward::addsOnlyTerms(CommandOp command) const {
  DenseSet<Value> terms = termsOf(*this);
  return command->getParentOp() == micro &&
         llvm::all_of(command.getResults(), [&](Value result) { return terms.contains(result); });
}

llvm::SetVector<Operation *> accum::train::forwardByOrigin(Block &block) {
  llvm::SetVector<Operation *> forward;
  auto loop = cast<PhaseOp>(block.getParentOp());
  auto kept = keptForward(loop->getParentOfType<StepOp>());
  DenseSet<Value> terms = kept && kept->micro == loop ? termsOf(*kept) : DenseSet<Value>();
  auto isTerm = [&](Value value) { return terms.contains(value); };
  for (Operation &op : block.without_terminator()) {
    auto command = dyn_cast<CommandOp>(op);
    bool adds = command && !command.getAccumulate().empty() && llvm::none_of(op.getResults(), isTerm);
    bool ends = isa<nn::ShareOp>(op) || adds;
    bool reads = llvm::all_of(op.getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return !producer || forward.contains(producer);
    });
    if (!ends && reads && !isOfDerivative(op.getLoc()))
      forward.insert(&op);
  }
  return forward;
}
