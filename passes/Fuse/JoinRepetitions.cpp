// SPDX-License-Identifier: Apache-2.0
// Derivatives whose kernels can make again what the forward part made of what they read.
#include "dialects/NN/Views.h"
#include "dialects/Train/CommandTail.h"
#include "dialects/Train/Companion.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/Fuse/CommandCost.h"
#include "passes/Fuse/InPlace.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_JOINREPETITIONS
#include "passes/Fuse/Passes.h.inc"

namespace {

/// Commands between a derivative and a reader of what it can make, at most: what the reader needs besides
/// lives so much longer, or the result does.
constexpr int kApart = 8;

/// What may be made again by another command: the one result of a kernel.
struct Source {
  train::CommandOp command;
  bool isTail;
  FlatSymbolRefAttr kernel;
  SmallVector<Value> operands;
  SmallVector<int64_t> inputs; ///< of the command, per operand; -1 for its own results
  OpResult result;
};

struct JoinRepetitions : impl::JoinRepetitionsBase<JoinRepetitions> {
  using JoinRepetitionsBase::JoinRepetitionsBase;
  void runOnOperation() override;
};

/// The first command that adds to a gradient, where one behind it adds to the loss: the forward part would
/// end elsewhere if it were moved (`lastForwardCommand`). Null where none does.
Operation *fixedGradient(train::StepOp step) {
  auto yield = cast<train::YieldOp>(step.getMicro().front().getTerminator());
  Operation *first = nullptr;
  SmallVector<Operation *> losses;
  for (auto [value, target] : llvm::zip(yield.getValues(), yield.getTargets())) {
    Operation *op = nn::behindViews(value).getDefiningOp();
    if (op && isa<StringAttr>(target))
      losses.push_back(op);
    else if (op && (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  auto isBehind = [&](Operation *loss) { return first && first->isBeforeInBlock(loss); };
  return llvm::any_of(losses, isBehind) ? first : nullptr;
}

/// Makes the companions of one step.
class Joiner {
public:
  Joiner(train::StepOp step, Outliner &outliner)
      : block(step.getMicro().front()), last(lastForwardCommand(step)), fixed(fixedGradient(step)),
        outliner(outliner) {}

  /// Companions with the commands that they stand for; their ids are to be set.
  SmallVector<std::pair<train::CommandOp, Source>> run() {
    SmallVector<std::pair<train::CommandOp, Source>> joined;
    if (!last)
      return joined;
    for (auto command : block.getOps<train::CommandOp>())
      if (!last->isBeforeInBlock(command))
        if (std::optional<Source> source = sourceOf(command))
          for (Value operand : source->operands)
            readBy[operand].push_back(*source);
    SmallVector<train::CommandOp> late;
    for (auto command : block.getOps<train::CommandOp>())
      if (last->isBeforeInBlock(command))
        late.push_back(command);
    for (train::CommandOp command : late)
      if (std::optional<Source> source = join(command))
        joined.emplace_back(command, *source);
    return joined;
  }

private:
  std::optional<Source> sourceOf(train::CommandOp command) const;
  std::optional<Source> join(train::CommandOp command);
  bool isThere(Value value, train::CommandOp command) const;
  std::optional<SmallVector<train::CommandOp>> readersBefore(Value value, train::CommandOp command) const;
  func::FuncOp makeKernel(train::CommandOp command, const Source &source, SmallVector<int64_t> &more);
  std::optional<Companion> companion(train::CommandOp command, const Source &source);

  Block &block;
  Operation *last, *fixed;
  Outliner &outliner;
  DenseMap<Value, SmallVector<Source>> readBy;
  DenseSet<Value> taken;
};

bool isPlainKernel(train::CommandOp command) {
  return !command.getLibrary() && !command->hasAttr("sliced") && !command->hasAttr("companion");
}

std::optional<Source> Joiner::sourceOf(train::CommandOp command) const {
  if (!isPlainKernel(command) || !command.getAccumulate().empty())
    return std::nullopt;
  if (auto tail = tailOf(command)) {
    Source source{command, true, tail->kernel, {}, {}, cast<OpResult>(command->getResult(tail->result))};
    for (int64_t operand : tail->operands) {
      source.operands.push_back(operand < 0 ? Value(command->getResult(~operand))
                                            : command.getInputs()[operand]);
      source.inputs.push_back(operand < 0 ? -1 : operand);
    }
    return source;
  }
  if (command.getNumResults() != 1)
    return std::nullopt;
  Source source{command, false, command.getKernelAttr(), {}, {}, cast<OpResult>(command->getResult(0))};
  for (auto [number, input] : llvm::enumerate(command.getInputs())) {
    source.operands.push_back(input);
    source.inputs.push_back(static_cast<int64_t>(number));
  }
  return source;
}

/// Values of the whole step, which no command of the loop makes.
bool isSteady(Value value) {
  Operation *op = nn::behindViews(value).getDefiningOp();
  return !op || isa<train::LoadParamOp>(op);
}

/// Whether a command can read the value without making it live longer.
bool Joiner::isThere(Value value, train::CommandOp command) const {
  return isSteady(value) || llvm::is_contained(command.getInputs(), value);
}

bool isReadAhead(Operation *op, Operation *at) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return isa<nn::ReshapeOp>(user) ? isReadAhead(user, at) : !at->isBeforeInBlock(user);
  });
}

/// The backward readers of a value that stand before `command`; nothing where one of them cannot wait for it,
/// or is the command itself, where there are no backward readers, or one is far away.
std::optional<SmallVector<train::CommandOp>> Joiner::readersBefore(Value value,
                                                                   train::CommandOp command) const {
  SmallVector<train::CommandOp> ahead, all;
  SmallVector<Value> open = {value};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<nn::ReshapeOp>(user)) {
        open.push_back(user->getResult(0));
        continue;
      }
      auto reader = dyn_cast<train::CommandOp>(user);
      if (!reader || reader == command)
        return std::nullopt;
      if (last->isBeforeInBlock(reader))
        all.push_back(reader);
    }
  if (all.empty())
    return std::nullopt;
  for (train::CommandOp reader : all) {
    bool isAhead = reader->isBeforeInBlock(command);
    Operation *first = isAhead ? reader.getOperation() : command.getOperation();
    Operation *second = isAhead ? command.getOperation() : reader.getOperation();
    int apart = 0;
    for (Operation *op = first; op != second; op = op->getNextNode())
      apart += isa<train::CommandOp>(op) ? 1 : 0;
    bool isBound = reader->hasAttr("sliced") || reader == fixed || isReadAhead(reader, command);
    if (apart > kApart || (isAhead && isBound))
      return std::nullopt;
    if (isAhead)
      ahead.push_back(reader);
  }
  llvm::sort(ahead, [](train::CommandOp a, train::CommandOp b) { return a->isBeforeInBlock(b); });
  ahead.erase(llvm::unique(ahead), ahead.end());
  return ahead;
}

/// The command's kernel with the body of the source's behind it. `more`: inputs of the source's command.
func::FuncOp Joiner::makeKernel(train::CommandOp command, const Source &source, SmallVector<int64_t> &more) {
  func::FuncOp own = outliner.kernelOf(command);
  func::FuncOp other = outliner.lookup(source.kernel);
  SmallVector<Type> arguments(own.getArgumentTypes()), results(own.getResultTypes());
  results.push_back(source.result.getType());
  SmallVector<unsigned> places; // of the source's operands
  for (auto [operand, input] : llvm::zip(source.operands, source.inputs)) {
    auto at = llvm::find(command.getInputs(), operand);
    if (at != command.getInputs().end()) {
      places.push_back(static_cast<unsigned>(at - command.getInputs().begin()));
      continue;
    }
    places.push_back(static_cast<unsigned>(arguments.size()));
    arguments.push_back(operand.getType());
    more.push_back(input);
  }
  OpBuilder builder(command.getContext());
  auto kernel = func::FuncOp::create(own.getLoc(), "kernel", builder.getFunctionType(arguments, results));
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  SmallVector<Value> returned;
  auto copy = [&](func::FuncOp from, IRMapping &mapping) {
    Block &block = from.getBody().front();
    for (Operation &op : block.without_terminator())
      builder.clone(op, mapping);
    for (Value value : block.getTerminator()->getOperands())
      returned.push_back(mapping.lookup(value));
  };
  IRMapping ofOwn, ofOther;
  for (auto [argument, here] : llvm::zip(own.getArguments(), body->getArguments()))
    ofOwn.map(argument, here);
  for (auto [argument, place] : llvm::zip(other.getArguments(), places))
    ofOther.map(argument, body->getArgument(place));
  copy(own, ofOwn);
  copy(other, ofOther);
  func::ReturnOp::create(builder, own.getLoc(), returned);
  IRRewriter rewriter(command.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return kernel;
}

Affine flopsOfKernel(func::FuncOp kernel) {
  Affine flops;
  kernel.getBody().walk([&](Operation *op) { flops += flopsOf(op); });
  return flops;
}

train::PolyAttr difference(MLIRContext *context, Affine more, Affine less) {
  // Ops that both do are done once, so that what is counted may even be less.
  return train::PolyAttr::get(context, std::max<int64_t>(0, more.constant - less.constant),
                              std::max<int64_t>(0, more.slope - less.slope));
}

/// Puts an op, and what looks at its results, behind another one; gives the last of them.
Operation *moveBehind(Operation *op, Operation *behind) {
  op->moveAfter(behind);
  behind = op;
  for (Operation *user : op->getUsers())
    if (isa<nn::ReshapeOp>(user) && user->isBeforeInBlock(behind))
      behind = moveBehind(user, behind);
  return behind;
}

/// What the command's kernel needs to make the source's result too; nothing where that is no kernel of one
/// loop.
std::optional<Companion> Joiner::companion(train::CommandOp command, const Source &source) {
  Companion companion;
  func::FuncOp kernel = makeKernel(command, source, companion.more), own = outliner.kernelOf(command);
  ArrayAttr pairs = inPlacePairs(kernel);
  if (!pairs) {
    kernel.erase();
    return std::nullopt;
  }
  auto inputs = static_cast<int64_t>(command.getInputs().size());
  for (auto pair : pairs.getAsRange<DenseI64ArrayAttr>())
    if (pair[0] == command.getNumResults() && pair[1] < inputs)
      companion.mayAlias.push_back(pair[1]);
  companion.flops = difference(command.getContext(), flopsOfKernel(kernel), flopsOfKernel(own));
  companion.bytes = difference(command.getContext(), bytesMovedBy(kernel), bytesMovedBy(own));
  companion.kernel = outliner.share(kernel);
  return companion;
}

/// The first source that the command can make again; its readers then stand behind it.
std::optional<Source> Joiner::join(train::CommandOp command) {
  if (!isPlainKernel(command))
    return std::nullopt;
  auto isThereFor = [&](Value operand) { return isThere(operand, command); };
  for (Value input : command.getInputs())
    for (const Source &source : readBy.lookup(input)) {
      if (taken.contains(source.result) || !llvm::all_of(source.operands, isThereFor))
        continue;
      auto ahead = readersBefore(source.result, command);
      auto made = ahead ? companion(command, source) : std::nullopt;
      if (!made)
        continue;
      setCompanion(command, *made);
      Operation *behind = command;
      for (train::CommandOp reader : *ahead)
        behind = moveBehind(reader, behind);
      taken.insert(source.result);
      return source;
    }
  return std::nullopt;
}

} // namespace

void JoinRepetitions::runOnOperation() {
  Outliner outliner(getOperation());
  SmallVector<std::pair<train::CommandOp, Source>> joined;
  for (auto step : getOperation().getOps<train::StepOp>())
    joined.append(Joiner(step, outliner).run());
  numberCommands(getOperation());
  for (auto &[command, source] : joined) {
    Companion companion = *companionOf(command);
    companion.id = source.isTail ? tailOf(source.command)->id : static_cast<int64_t>(source.command.getId());
    setCompanion(command, companion);
  }
}

} // namespace accum
