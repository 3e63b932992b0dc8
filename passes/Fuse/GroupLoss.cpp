// SPDX-License-Identifier: Apache-2.0
// Finds the commands around a cross-entropy that may run in slices of samples, so that its logits are never
// whole.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/RowAxis.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Fuse/CommandCost.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_GROUPLOSS
#include "passes/Fuse/Passes.h.inc"

namespace {

/// Not bytes: cotangents of f32 logits may be bf16.
int64_t perSample(Value value) { return elementsOf(value.getType()).slope; }

/// Whether the samples of a value lie one behind the other.
bool isSampleMajor(Value value) {
  auto placement = nn::Placement::of(value.getType());
  return !placement.isBatched() || (placement.dim == 0 && placement.outer == 1);
}

/// Whether what the body computes for a sample depends on which sample it is.
bool numbersSamples(func::FuncOp kernel) {
  auto result = kernel.walk([](Operation *op) {
    bool counts = isa<nn::IotaOp>(op) && nn::Placement::of(op->getResult(0).getType()).isBatched();
    return counts || isa<nn::DropoutOp, nn::RandomOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The commands from the one that makes the logits to the last that reads them or their cotangents.
class LossGroup {
public:
  LossGroup(train::PhaseOp loop, SymbolTable &symbols)
      : loop(loop), block(loop.getBlock()), symbols(symbols) {}

  /// False where there is none, or where something of it needs whole values.
  bool find();
  /// Puts the commands one behind the other and says which results are `sliced`.
  void mark();

private:
  Value widestLogits();
  train::CommandOp leaderOf(Value logits) const;
  bool collect(train::CommandOp leader);
  bool isSliceable(train::CommandOp command);
  bool sort();
  bool keepsRowsApart();

  func::FuncOp kernelOf(train::CommandOp command) {
    return symbols.lookup<func::FuncOp>(command.getKernel());
  }
  bool isWide(Value value) const { return perSample(value) >= wide; }

  train::PhaseOp loop;
  Block &block;
  SymbolTable &symbols;
  int64_t wide = 0; ///< elements of a sample's logits
  int64_t rows = 1; ///< of a sample's logits
  llvm::SetVector<Operation *> members;
  SmallVector<Operation *> inside, behind, before; ///< between the first and the last member, in order
};

/// What the largest cross-entropy reads.
Value LossGroup::widestLogits() {
  Value widest;
  for (auto command : block.getOps<train::CommandOp>()) {
    bool isLoss = false;
    kernelOf(command).walk([&](nn::CrossEntropyOp) { isLoss = true; });
    for (Value input : command.getInputs())
      if (isLoss && perSample(input) > 0 && (!widest || perSample(input) > perSample(widest)))
        widest = input;
  }
  return widest;
}

/// The first command that makes a value of that size, from smaller ones.
train::CommandOp LossGroup::leaderOf(Value logits) const {
  while (auto command = nn::behindViews(logits).getDefiningOp<train::CommandOp>()) {
    auto larger = llvm::find_if(command.getInputs(), [&](Value input) { return isWide(input); });
    if (larger == command.getInputs().end())
      return command;
    logits = *larger;
  }
  return {};
}

bool LossGroup::isSliceable(train::CommandOp command) {
  if (command.getLibrary() == "attention" || numbersSamples(kernelOf(command)))
    return false;
  for (Value input : command.getInputs()) {
    Value root = nn::behindViews(input);
    if (!isSampleMajor(input) || !isSampleMajor(root))
      return false;
    auto argument = dyn_cast<BlockArgument>(root);
    auto brought = argument ? dyn_cast<BlockArgument>(loop.sourceOf(argument)) : BlockArgument();
    if (StringRef name = brought ? train::madeInput(brought) : ""; name == "rng" || name == "first_row")
      return false;
  }
  for (OpResult result : command->getResults())
    if (!llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(result.getResultNumber())) &&
        (!nn::Placement::of(result.getType()).isBatched() || !isSampleMajor(result)))
      return false;
  return true;
}

/// All that reads something as large as the logits, from the leader on.
bool LossGroup::collect(train::CommandOp leader) {
  SmallVector<Value> open;
  auto add = [&](train::CommandOp command) {
    if (!members.insert(command))
      return;
    for (Value result : command->getResults())
      if (isWide(result))
        open.push_back(result);
  };
  add(leader);
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<nn::ReshapeOp>(user))
        open.push_back(view.getResult());
      else if (auto command = dyn_cast<train::CommandOp>(user))
        add(command);
      else
        return false;
    }
  return members.size() > 1 &&
         llvm::all_of(members, [&](Operation *op) { return isSliceable(cast<train::CommandOp>(op)); });
}

/// What stands between members and needs none of them goes before the first, the rest behind the last.
bool LossGroup::sort() {
  auto earlier = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  Operation *first = *llvm::min_element(members, earlier), *last = *llvm::max_element(members, earlier);
  DenseSet<Operation *> made, late;
  for (Operation *op = first;; op = op->getNextNode()) {
    auto reads = [&](const DenseSet<Operation *> &set) {
      return llvm::any_of(op->getOperands(),
                          [&](Value value) { return set.contains(value.getDefiningOp()); });
    };
    if (members.contains(op)) {
      if (reads(late))
        return false;
      inside.push_back(op);
      made.insert(op);
    } else if (reads(late) || (reads(made) && !isa<nn::ReshapeOp>(op))) {
      behind.push_back(op);
      late.insert(op);
    } else if (reads(made)) {
      inside.push_back(op);
      made.insert(op);
    } else {
      before.push_back(op);
    }
    if (op == last)
      return true;
  }
}

/// Whether no command needs more than some rows of a sample at a time.
bool LossGroup::keepsRowsApart() {
  return llvm::all_of(members, [&](Operation *op) {
    auto command = cast<train::CommandOp>(op);
    auto body = kernelOf(command).getBody().front().without_terminator();
    return llvm::all_of(body, [&](Operation &each) { return nn::isRowLocal(&each, rows); });
  });
}

bool LossGroup::find() {
  Value logits = widestLogits();
  if (!logits)
    return false;
  wide = perSample(logits);
  auto type = cast<RankedTensorType>(logits.getType());
  rows = type.getNumElements() / std::max<int64_t>(1, type.getShape().back());
  train::CommandOp leader = leaderOf(logits);
  return leader && collect(leader) && sort();
}

void LossGroup::mark() {
  Operation *next = inside.back()->getNextNode();
  for (auto *list : {&before, &inside, &behind})
    for (Operation *op : *list)
      op->moveBefore(next);
  if (rows > 1 && keepsRowsApart())
    cast<train::CommandOp>(inside.front()).setRows(rows);
  for (Operation *op : members) {
    SmallVector<int64_t> sliced;
    for (OpResult result : op->getResults())
      if (isWide(result))
        sliced.push_back(result.getResultNumber());
    cast<train::CommandOp>(op).setSliced(sliced);
  }
}

struct GroupLoss : impl::GroupLossBase<GroupLoss> {
  using GroupLossBase::GroupLossBase;
  void runOnOperation() override;
};

} // namespace

void GroupLoss::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (auto step : getOperation().getOps<train::StepOp>())
    // What goes on from the whole batch is not computed slice by slice with what comes before that.
    if (train::PhaseOp loop = step.getMainLoop(); loop && !train::keptForward(step))
      if (LossGroup group(loop, symbols); group.find())
        group.mark();
  int64_t id = 0;
  getOperation().walk([&](train::CommandOp command) { command.setId(id++); });
}

} // namespace accum
