// SPDX-License-Identifier: Apache-2.0
// Finds results that a command can compute again from its other results.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/CommandTail.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fuse/CommandCost.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_SPLITTAILS
#include "passes/Fuse/Passes.h.inc"

namespace {

/// A part of a kernel's body: what some of its results are computed from.
struct Part {
  func::FuncOp kernel;
  SmallVector<int64_t> operands; ///< arguments of the whole kernel; `~i` for its result i
};

int64_t bytesPerSample(Value value) { return bytesOf(value.getType()).slope; }

/// The kernel that returns `results` of `whole`, reading `given` (other results) instead of computing them.
Part partOf(func::FuncOp whole, ArrayRef<int64_t> results, ArrayRef<int64_t> given) {
  Operation *end = whole.getBody().front().getTerminator();
  DenseMap<Value, int64_t> known; // value -> operand
  for (BlockArgument argument : whole.getArguments())
    known[argument] = argument.getArgNumber();
  for (int64_t i : given)
    known[end->getOperand(i)] = ~i;
  llvm::SetVector<Value> operands;
  DenseSet<Operation *> needed;
  SmallVector<Value> open;
  for (int64_t i : results)
    open.push_back(end->getOperand(i));
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (known.contains(value))
      operands.insert(value);
    else if (needed.insert(value.getDefiningOp()).second)
      llvm::append_range(open, value.getDefiningOp()->getOperands());
  }
  SmallVector<Value> order = operands.takeVector();
  llvm::sort(order, [&](Value a, Value b) { return known[a] < known[b]; });
  auto returned = llvm::map_to_vector(results, [&](int64_t i) { return end->getOperand(i); });
  Part part;
  OpBuilder builder(whole.getContext());
  auto type = builder.getFunctionType(ValueRange(order).getTypes(), ValueRange(returned).getTypes());
  part.kernel = func::FuncOp::create(whole.getLoc(), "kernel", type);
  IRMapping mapping;
  mapping.map(order, part.kernel.addEntryBlock()->getArguments());
  builder.setInsertionPointToEnd(&part.kernel.getBody().front());
  for (Operation &op : whole.getBody().front().without_terminator())
    if (needed.contains(&op))
      builder.clone(op, mapping);
  func::ReturnOp::create(builder, whole.getLoc(),
                         llvm::map_to_vector(returned, [&](Value value) { return mapping.lookup(value); }));
  for (Value value : order)
    part.operands.push_back(known[value]);
  return part;
}

/// Lets the other ops of a kernel read what it stores in a narrower type, so that whoever has only what is
/// stored computes the same.
void readWhatIsStored(func::FuncOp kernel) {
  Operation *end = kernel.getBody().front().getTerminator();
  auto isNarrower = [](Value less, Value wide) {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(wide)),
         to = dyn_cast<FloatType>(getElementTypeOrSelf(less));
    return from && to && to.getWidth() < from.getWidth();
  };
  for (Value stored : end->getOperands()) {
    auto narrow = stored.getDefiningOp<nn::CastOp>();
    Value wide = narrow ? narrow.getInput() : Value();
    if (!wide || !wide.getDefiningOp() || !isNarrower(stored, wide) || wide.hasOneUse() ||
        llvm::is_contained(wide.getUsers(), end))
      continue;
    narrow->moveAfter(wide.getDefiningOp());
    OpBuilder builder(kernel.getContext());
    builder.setInsertionPointAfter(narrow);
    auto back = nn::CastOp::create(builder, narrow.getLoc(), wide.getType(), stored);
    wide.replaceAllUsesExcept(back, narrow);
  }
}

/// What is kept for it in memory: another result, at least, and nothing large that the command only reads.
bool isWorthwhile(Part &tail, int64_t bytes) {
  bool readsResult = false;
  for (auto [operand, type] : llvm::zip(tail.operands, tail.kernel.getArgumentTypes())) {
    readsResult |= operand < 0;
    if (operand >= 0 && 2 * bytesOf(type).slope > bytes)
      return false;
  }
  return readsResult;
}

struct SplitTails : impl::SplitTailsBase<SplitTails> {
  using SplitTailsBase::SplitTailsBase;
  void runOnOperation() override;

  void split(train::CommandOp command, Operation *late, Outliner &outliner);
};

/// The first command that adds to a gradient; null where none does.
Operation *firstGradient(train::StepOp step) {
  Operation *first = nullptr;
  train::PhaseOp loop = step.getMainLoop();
  if (!loop)
    return first;
  train::YieldOp yield = loop.getYield();
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets()))
    if (Operation *op = value.getDefiningOp();
        op && isa<SymbolRefAttr>(target) && (!first || op->isBeforeInBlock(first)))
      first = op;
  return first;
}

bool isReadFrom(Operation *late, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<nn::ReshapeOp>(user) ? isReadFrom(late, user->getResult(0)) : !user->isBeforeInBlock(late);
  });
}

} // namespace

void SplitTails::split(train::CommandOp command, Operation *late, Outliner &outliner) {
  bool isPlain = !command.getLibrary() && command.getAccumulate().empty() && !command.getSliced();
  if (!isPlain || command.getNumResults() < 2)
    return;
  func::FuncOp whole = outliner.kernelOf(command);
  int64_t most = 0;
  for (Value result : command.getResults())
    most = std::max(most, bytesPerSample(result));
  for (OpResult result : command->getResults()) {
    auto number = static_cast<int64_t>(result.getResultNumber());
    if (bytesPerSample(result) < most || most == 0 || !isReadFrom(late, result))
      continue;
    SmallVector<int64_t> others;
    for (int64_t i = 0; i < command.getNumResults(); ++i)
      if (i != number)
        others.push_back(i);
    Part tail = partOf(whole, {number}, others);
    if (!isWorthwhile(tail, most)) {
      tail.kernel.erase();
      continue;
    }
    Part head = partOf(whole, others, {});
    Affine flops, bytes;
    tail.kernel.getBody().walk([&](Operation *op) { flops += flopsOf(op); });
    for (Type type : llvm::concat<const Type>(tail.kernel.getArgumentTypes(), tail.kernel.getResultTypes()))
      bytes += bytesOf(type);
    CommandTail entry;
    entry.result = number;
    entry.operands = tail.operands;
    entry.headOperands = head.operands;
    entry.flops = train::PolyAttr::get(&getContext(), flops.constant, flops.slope);
    entry.bytes = train::PolyAttr::get(&getContext(), bytes.constant, bytes.slope);
    entry.kernel = outliner.share(tail.kernel);
    entry.head = outliner.share(head.kernel);
    setTail(command, entry);
    return;
  }
}

void SplitTails::runOnOperation() {
  Outliner outliner(getOperation());
  for (auto step : getOperation().getOps<train::StepOp>()) {
    Operation *late = firstGradient(step), *last = lastForwardCommand(step);
    if (!last)
      continue;
    for (auto command : last->getBlock()->getOps<train::CommandOp>())
      if (!last->isBeforeInBlock(command)) {
        // Also where there is no tail: what is frozen, say, does not change the forward part's values.
        if (!command.getLibrary())
          readWhatIsStored(outliner.kernelOf(command));
        if (late && command->isBeforeInBlock(late))
          split(command, late, outliner);
      }
  }
  numberCommands(getOperation());
}

} // namespace accum
