// SPDX-License-Identifier: Apache-2.0
// Groups the ops of a step into commands.
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
#include "dialects/Train/OneParameter.h"
#include "dialects/Train/SplitBatch.h"
#include "passes/Fuse/Groups.h"
#include "passes/Fuse/InPlace.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/Passes.h"
#include "passes/Fuse/TensorUpdates.h"
#include "passes/Fuse/UpdateKernels.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_FORMCOMMANDS
#include "passes/Fuse/Passes.h.inc"

namespace {

struct FormCommands : impl::FormCommandsBase<FormCommands> {
  using FormCommandsBase::FormCommandsBase;
  void runOnOperation() override;
  void formBlock(Block &block, Outliner &outliner);
  LogicalResult formUpdate(train::PhaseOp phase, Outliner &outliner);
  LogicalResult formPhase(train::PhaseOp phase, Outliner &outliner);
  void placeTensorStores(Block &update, StringRef optimizer, Outliner &outliner);
  bool isGemm(train::CommandOp command, Outliner &outliner);
};

/// A command that copies `value`, before `anchor`.
Value copy(Value value, Operation *anchor, Outliner &outliner) {
  OpBuilder builder(anchor);
  auto op = nn::BroadcastOp::create(builder, value.getLoc(), value.getType(), value);
  return outliner.outline(op.getOperation()).getResult(0);
}

/// Yielded values of a loop are added in place by the commands that compute them; what cannot be (values with
/// other users, inputs, parameters, values yielded twice, attention's cotangents) is copied by a command that
/// does nothing else. So is what a command would add where it adds another result: a kernel's results are
/// written by different threads.
void accumulateYields(train::YieldOp yield, Outliner &outliner) {
  DenseSet<std::pair<Operation *, Attribute>> added;
  auto kept = train::keptForward(yield->getParentOfType<train::StepOp>());
  bool goesOn = kept && kept->micro == yield->getParentOp();
  // Terms of sums that the micro-step itself goes on from are added before that.
  auto anchorOf = [&](Value value, Attribute target) -> Operation * {
    if (!goesOn || !kept->isTerm(target))
      return yield;
    Operation *producer = value.getDefiningOp();
    return producer ? producer->getNextNode() : &yield->getBlock()->front();
  };
  for (auto [operand, target] : llvm::zip_equal(yield->getOpOperands(), yield.getTargets())) {
    Value value = nn::behindViews(operand.get());
    auto command = value.getDefiningOp<train::CommandOp>();
    // Every view on the way must be private too.
    bool sole = command && command.getLibrary() != "attention" && value.hasOneUse() &&
                added.insert({command, target}).second;
    for (Value view = operand.get(); sole && view != value; view = view.getDefiningOp()->getOperand(0))
      sole = view.hasOneUse();
    if (!sole) {
      value = copy(operand.get(), anchorOf(operand.get(), target), outliner);
      command = value.getDefiningOp<train::CommandOp>();
    }
    operand.set(value);
    SmallVector<int64_t> accumulate(command.getAccumulate());
    accumulate.push_back(cast<OpResult>(value).getResultNumber());
    command.setAccumulate(accumulate);
  }
}

/// What the whole batch does not reach comes before what goes on from it: the terms of its sums, and what a
/// micro-step computes on the way to them.
void putForwardFirst(train::StepOp step) {
  auto kept = train::keptForward(step);
  train::CommandOp resumes = kept ? kept->resumes() : train::CommandOp();
  if (!resumes)
    return;
  Block &block = *resumes->getBlock();
  llvm::SetVector<Operation *> forward = train::forwardByOrigin(block);
  DenseSet<Operation *> late; // reached by what the whole batch left
  auto isLate = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return kept->micro.sourceOf(argument).getDefiningOp() == kept->whole;
    return late.contains(value.getDefiningOp());
  };
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (llvm::any_of(op.getOperands(), isLate))
      late.insert(&op);
    else if (forward.contains(&op) && resumes->isBeforeInBlock(&op))
      op.moveBefore(resumes);
}

/// What is handed out and no command computes (inputs, constants) is copied by one.
void materialiseOutputs(Block &block, Outliner &outliner) {
  for (auto output : llvm::to_vector(block.getOps<train::OutputOp>()))
    if (!nn::behindViews(output.getValue()).getDefiningOp<train::CommandOp>())
      output.getValueMutable().assign(copy(output.getValue(), output, outliner));
}

/// What a phase keeps and no command computes (constants, parameters) is copied by one.
void materialiseYields(train::YieldOp yield, Outliner &outliner) {
  for (OpOperand &operand : yield->getOpOperands())
    if (!nn::behindViews(operand.get()).getDefiningOp<train::CommandOp>())
      operand.set(copy(operand.get(), yield, outliner));
}

} // namespace

bool FormCommands::isGemm(train::CommandOp command, Outliner &outliner) {
  return analyseGemmKernel(outliner.kernelOf(command)).has_value();
}

/// The first row of each trained parameter in the state's ranges, and the end: parameters are in the module's
/// order there.
static SmallVector<int64_t> firstRows(ModuleOp module, ArrayRef<train::UpdateOp> updates) {
  llvm::DenseSet<StringAttr> trained;
  for (train::UpdateOp update : updates)
    trained.insert(update.getParamAttr().getAttr());
  SmallVector<int64_t> starts = {0};
  for (auto param : module.getOps<train::ParamOp>())
    if (trained.contains(param.getSymNameAttr()))
      starts.push_back(starts.back() +
                       llvm::divideCeil(device::bytesOf(cast<RankedTensorType>(param.getType())),
                                        device::kStateAlignment));
  return starts;
}

/// All parameters are updated by one command: their gradients are what the micro-steps accumulated, and the
/// state has parameters, gradients and slots in ranges of one order.
LogicalResult FormCommands::formUpdate(train::PhaseOp phase, Outliner &outliner) {
  SmallVector<train::UpdateOp> updates(phase.getBlock().getOps<train::UpdateOp>());
  if (updates.empty())
    return success();
  train::UpdateOp first = updates.front();
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(first.getOptimizer().str());
  if (!optimizer)
    return first.emitOpError("has an optimizer that is none of ") << runtime::optimizerNames();
  Type element = cast<RankedTensorType>(first.getGradient().getType()).getElementType();
  for (train::UpdateOp update : updates)
    if (!isa<BlockArgument>(update.getGradient()) || update.getOptimizer() != first.getOptimizer() ||
        cast<RankedTensorType>(update.getGradient().getType()).getElementType() != element)
      return update.emitOpError("does not update by what was accumulated, as the others do");
  SmallVector<int64_t> starts = firstRows(getOperation(), updates);
  func::FuncOp kernel = buildUpdateKernel(*optimizer, starts, element);
  OpBuilder builder(first);
  Location loc = phase.getLoc();
  SmallVector<StringRef> slots = {"parameter", "gradient"};
  for (const runtime::SlotRow &slot : optimizer->slots)
    slots.push_back(slot.name);
  SmallVector<Value> inputs = {first.getHyper(),
                               train::LoadDecayOp::create(builder, loc, kernel.getArgumentTypes()[1])};
  for (StringRef slot : slots)
    inputs.push_back(train::LoadSlotOp::create(builder, loc, kernel.getArgumentTypes()[2], slot));
  train::CommandOp command = outliner.call(kernel, inputs, first, loc);
  slots.erase(std::next(slots.begin())); // gradients are read only
  SmallVector<Attribute> inPlace;
  for (auto [i, result] : llvm::enumerate(command.getResults())) {
    int64_t operand = i == 0 ? 2 : 3 + static_cast<int64_t>(i);
    inPlace.push_back(builder.getDenseI64ArrayAttr({static_cast<int64_t>(i), operand}));
    train::StoreOp::create(builder, loc, result, slots[i]);
  }
  command.setMayAliasAttr(builder.getArrayAttr(inPlace));
  for (train::UpdateOp update : updates)
    update.erase();
  return success();
}

/// Which range of the state `value` is read from: a slot of one parameter.
bool readsWhatIsStored(Value value, train::StoreOp store) {
  auto load = nn::behindViews(value).getDefiningOp<train::LoadSlotOp>();
  return load && load.getSlot() == store.getSlot() &&
         train::oneParameterOf(load) == train::oneParameterOf(store);
}

/// A result that is stored by tensor is written into the state right away, which its command may still be
/// reading: where that is not promised to be fine, it is copied there by a command of its own. The command
/// that stores the parameter gets the optimizer's name.
void FormCommands::placeTensorStores(Block &update, StringRef optimizer, Outliner &outliner) {
  for (auto store : llvm::to_vector(update.getOps<train::StoreOp>())) {
    auto command = store.getValue().getDefiningOp<train::CommandOp>();
    auto result = static_cast<int64_t>(cast<OpResult>(store.getValue()).getResultNumber());
    auto mayAlias = [&](size_t operand) {
      return llvm::any_of(command.getMayAlias().getAsRange<DenseI64ArrayAttr>(), [&](DenseI64ArrayAttr pair) {
        return pair.asArrayRef() == ArrayRef<int64_t>{result, static_cast<int64_t>(operand)};
      });
    };
    bool isSafe = true;
    for (auto [i, input] : llvm::enumerate(command.getInputs()))
      isSafe &= !readsWhatIsStored(input, store) || mayAlias(i);
    if (!isSafe)
      store.getValueMutable().assign(copy(store.getValue(), store, outliner));
    if (store.getSlot() == "parameter")
      outliner.kernelOf(store.getValue().getDefiningOp<train::CommandOp>())
          ->setAttr("accum.update", StringAttr::get(&getContext(), optimizer));
  }
}

void FormCommands::formBlock(Block &block, Outliner &outliner) {
  for (Group &group : mode == "fused" ? fusedGroups(block, {biases, tiles}) : singleGroups(block)) {
    train::CommandOp command = outliner.outline(group);
    if (gemm && isGemm(command, outliner))
      command.setLibrary("gemm");
    if (attentionOf(outliner.kernelOf(command)))
      command.setLibrary("attention");
    if (mode == "fused" && !command.getLibrary())
      if (ArrayAttr pairs = inPlacePairs(outliner.kernelOf(command)))
        command.setMayAliasAttr(pairs);
  }
}

LogicalResult FormCommands::formPhase(train::PhaseOp phase, Outliner &outliner) {
  std::string byTensor = expandTensorUpdates(phase);
  formBlock(phase.getBlock(), outliner);
  if (!byTensor.empty())
    placeTensorStores(phase.getBlock(), byTensor, outliner);
  return formUpdate(phase, outliner);
}

void FormCommands::runOnOperation() {
  Outliner outliner(getOperation());
  for (auto step : getOperation().getOps<train::StepOp>()) {
    for (train::PhaseOp phase : step.getPhases())
      if (failed(formPhase(phase, outliner)))
        return signalPassFailure();
    for (train::PhaseOp phase : step.getPhases()) {
      if (phase.getLoop())
        accumulateYields(phase.getYield(), outliner);
      else
        materialiseYields(phase.getYield(), outliner);
      materialiseOutputs(phase.getBlock(), outliner);
      eraseDeadOps(phase.getBlock());
    }
    putForwardFirst(step);
  }
  int64_t id = 0;
  getOperation().walk([&](train::CommandOp command) { command.setId(id++); });
}

} // namespace accum
