// SPDX-License-Identifier: Apache-2.0
// Splits a placed forward graph into the phases of a step.
#include "passes/Differentiate/StepBuilder.h"
#include "dialects/NN/Boundary.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

static bool isFloat(Value value) {
  return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
}

static bool isTrained(Operation *op, SymbolTableCollection &symbols) {
  auto load = dyn_cast<train::LoadParamOp>(op);
  return load && symbols.lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr()).getTrained();
}

/// Worth a buffer that lives all step: not what is free (constants, parameters, views), nor a transpose that
/// contractions read in place.
static bool isWorthKeeping(Operation *op) {
  if (isa<nn::ConstantOp, nn::IotaOp, nn::ReshapeOp, train::LoadParamOp>(op))
    return false;
  return !isa<nn::TransposeOp>(op) || !llvm::all_of(op->getUsers(), llvm::IsaPred<nn::ContractOp>);
}

/// Totals by how many others, one behind the other, must be known first.
static SmallVector<SmallVector<Operation *>> totalsByPrepass(Block &block) {
  SmallVector<SmallVector<Operation *>> prepasses;
  DenseMap<Value, size_t> before; // pre-passes that must be over
  for (Operation &op : block.without_terminator()) {
    size_t number = 0;
    for (Value operand : op.getOperands())
      number = std::max(number, before.lookup(operand));
    if (isa<nn::TotalOp>(op) && !nn::isCut(&op)) {
      prepasses.resize(std::max(prepasses.size(), number + 1));
      prepasses[number++].push_back(&op);
    }
    for (Value result : op.getResults())
      before[result] = number;
  }
  return prepasses;
}

ForwardGraph::ForwardGraph(func::FuncOp forward) : function(forward) {
  Block &block = forward.getBody().front();
  prepasses = totalsByPrepass(block);
  loss = block.getTerminator()->getOperand(0);
  SymbolTableCollection symbols;
  findMeeting();
  DenseSet<Value> constant; // replicated, and known before the micro loop
  for (Operation &op : block.without_terminator()) {
    bool reached = isTrained(&op, symbols) ||
                   llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); });
    bool early = !nn::isCut(&op) && (isa<nn::TotalOp>(op) || (!reached && runsEarly(op, constant)));
    for (Value result : op.getResults()) {
      if (reached && isFloat(result))
        active.insert(result);
      if (early)
        constant.insert(result);
    }
    if (early && !isa<nn::TotalOp>(op) && isWorthKeeping(&op) && !isOfPairs(op))
      prologue.insert(&op);
  }
}

/// A table of all pairs of samples, which the whole batch needs in parts.
bool ForwardGraph::isOfPairs(Operation &op) const {
  std::optional<int64_t> batch = train::splitBatchOf(function->getParentOp());
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return batch && meeting.contains(&op) && type.getNumElements() >= *batch * *batch;
}

bool ForwardGraph::runsEarly(Operation &op, const DenseSet<Value> &constant) const {
  return !isa<nn::DropoutOp, nn::RandomOp, nn::ShareOp>(op) &&
         llvm::all_of(op.getOperands(), [&](Value v) { return constant.contains(v); }) &&
         llvm::all_of(op.getResultTypes(), [](Type t) { return nn::Placement::of(t).isReplicated(); });
}

/// One dictionary per argument of the forward graph, without the dialect prefix, then `others` by name.
static ArrayAttr describeInputs(func::FuncOp forward, ArrayRef<StringRef> others) {
  Builder builder(forward.getContext());
  SmallVector<Attribute> inputs;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    SmallVector<NamedAttribute> entries;
    DictionaryAttr attrs = forward.getArgAttrDict(i);
    for (NamedAttribute attr : attrs ? attrs.getValue() : ArrayRef<NamedAttribute>())
      if (attr.getName().strref().starts_with("train."))
        entries.emplace_back(builder.getStringAttr(attr.getName().strref().drop_front(6)), attr.getValue());
    inputs.push_back(builder.getDictionaryAttr(entries));
  }
  for (StringRef name : others)
    inputs.push_back(
        builder.getDictionaryAttr({{builder.getStringAttr("name"), builder.getStringAttr(name)}}));
  return builder.getArrayAttr(inputs);
}

StepBuilder::StepBuilder(const ForwardGraph &graph, Purpose purpose, Operation *before, int64_t tileRows,
                         bool keepForward)
    : builder(before), graph(graph), purpose(purpose), keepForward(keepForward), forward(graph.function) {
  bool trains = purpose == Trains;
  SmallVector<StringRef> others = {"rng"};
  if (trains)
    others.push_back("hyper");
  constexpr const char *kNames[] = {"step", "eval", train::kPredictFunction.data()};
  step = train::StepOp::create(builder, forward.getLoc(), kNames[purpose], describeInputs(forward, others));
  step.getBody().emplaceBlock();
  addInputs();
  for (size_t number = 0; number < graph.prepasses.size(); ++number)
    buildPrepass(number);
  buildPrologue();
  if (graph.meeting.empty()) {
    buildMicro();
  } else {
    buildEncode();
    buildMeeting(tileRows);
  }
}

void StepBuilder::addInputs() {
  Block &block = step.getBlock();
  for (BlockArgument argument : forward.getArguments())
    known.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
  auto place = [&](RankedTensorType type) {
    return block.addArgument(nn::Placement::replicated().place(type), forward.getLoc());
  };
  rng = place(RankedTensorType::get({3}, builder.getI64Type()));
  if (purpose == Trains)
    hyper = place(RankedTensorType::get({8}, builder.getF64Type()));
}

train::PhaseOp StepBuilder::addPhase(StringRef name, bool isLoop, StringRef title) {
  builder.setInsertionPointToEnd(&step.getBlock());
  return train::PhaseOp::create(builder, step.getLoc(), name, isLoop, title);
}

/// Loops see the inputs, and all phases what is known by now.
void StepBuilder::bringKnown(train::PhaseOp phase, IRMapping &mapping) {
  auto bring = [&](Value value) { mapping.map(value, phase.capture(known.lookup(value), value.getLoc())); };
  if (phase.getLoop()) {
    llvm::for_each(forward.getArguments(), bring);
    phase.capture(rng, step.getLoc());
  }
  llvm::for_each(results, bring);
}

/// Ends a phase. What it leaves is `left` in the forward graph.
train::PhaseOp StepBuilder::leave(train::PhaseOp phase, ValueRange values, ArrayRef<Attribute> targets,
                                  ValueRange left) {
  builder.setInsertionPointToEnd(&phase.getBlock());
  train::YieldOp::create(builder, step.getLoc(), values, builder.getArrayAttr(targets));
  SmallVector<Type> types(left.getTypes());
  phase = train::withResults(phase, types, SmallVector<int64_t>(types.size(), -1));
  for (auto [value, result] : llvm::zip_equal(left, phase->getResults())) {
    known.map(value, result);
    results.push_back(value);
  }
  return phase;
}

/// What evaluation has for a mask: all is kept.
static Value onesOf(OpBuilder &builder, nn::RandomOp mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  Attribute one = builder.getFloatAttr(type.getElementType(), 1);
  return nn::ConstantOp::create(builder, mask.getLoc(), type, DenseElementsAttr::get(type, one));
}

void StepBuilder::cloneInto(Operation *op, IRMapping &mapping, train::PhaseOp phase) {
  if (auto dropout = dyn_cast<nn::DropoutOp>(op); dropout && purpose != Trains)
    return mapping.map(dropout.getResult(), mapping.lookup(dropout.getInput()));
  builder.setInsertionPointToEnd(&phase.getBlock());
  if (auto random = dyn_cast<nn::RandomOp>(op);
      random && random.getKind() == nn::RandomKind::mask && purpose != Trains)
    return mapping.map(random.getResult(), onesOf(builder, random));
  Operation *clone = builder.clone(*op, mapping);
  unsigned operands = clone->getNumOperands();
  auto samples = [&] {
    Value positions = nn::Placement::of(op->getResult(0).getType()).isBatched() ? input("position") : Value();
    return positions ? mapping.lookup(positions) : firstRowIn(mapping, clone);
  };
  if (isa<nn::DropoutOp>(clone))
    clone->insertOperands(operands, {phase.capture(rng, step.getLoc()), samples()});
  else if (auto random = dyn_cast<nn::RandomOp>(clone))
    random.getSourceMutable().append({phase.capture(rng, step.getLoc()), samples()});
  else if (isa<nn::ShareOp>(clone))
    clone->insertOperands(operands, {firstRowIn(mapping, clone)});
}

/// Of the forward graph, the input that is made by this rule; null where it has none.
Value StepBuilder::input(StringRef synthesize) {
  for (BlockArgument argument : forward.getArguments()) {
    auto rule = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.synthesize");
    if (rule && rule.getValue() == synthesize)
      return argument;
  }
  return {};
}

/// In the forward graph; null where it has none.
Value StepBuilder::firstRow() {
  Value found;
  for (BlockArgument argument : forward.getArguments()) {
    auto name = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.name");
    if (name && name.getValue() == "first_row")
      found = argument;
  }
  return found;
}

void StepBuilder::buildPrepass(size_t number) {
  ArrayRef<Operation *> totals = graph.prepasses[number];
  std::string name = number == 0 ? "pre-pass" : "pre-pass " + std::to_string(number + 1);
  train::PhaseOp phase = addPhase(name, /*isLoop=*/true,
                                  number == 0 ? "pre-pass: totals over the global batch"
                                              : "another pre-pass: totals that need those before");
  IRMapping mapping;
  bringKnown(phase, mapping);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !isa<nn::TotalOp>(op); };
  for (Operation *total : totals)
    if (Operation *producer = total->getOperand(0).getDefiningOp())
      (void)getBackwardSlice(producer, &slice, options);
  for (Operation &op : forward.getBody().front())
    if (slice.contains(&op))
      cloneInto(&op, mapping, phase);
  addTotals(phase, totals, mapping);
}

/// Ends a loop in totals.
void StepBuilder::addTotals(train::PhaseOp phase, ArrayRef<Operation *> totals, const IRMapping &mapping) {
  SmallVector<Value> values, left;
  SmallVector<Attribute> targets;
  size_t before = results.size();
  for (auto [i, total] : llvm::enumerate(totals)) {
    values.push_back(mapping.lookup(total->getOperand(0)));
    targets.push_back(builder.getStringAttr(totalName(before + i)));
    left.push_back(total->getResult(0));
  }
  leave(phase, values, targets, left);
}

void StepBuilder::buildPrologue() {
  SmallVector<Value> kept;
  SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !isa<nn::TotalOp>(op); };
  for (Operation &op : forward.getBody().front()) {
    if (!graph.prologue.contains(&op))
      continue;
    (void)getBackwardSlice(&op, &needed, options);
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !graph.prologue.contains(user); }))
        kept.push_back(result);
  }
  if (kept.empty())
    return;
  train::PhaseOp phase =
      addPhase("prologue", /*isLoop=*/false, "prologue: what does not depend on the micro-batch");
  IRMapping mapping;
  bringKnown(phase, mapping);
  for (Operation &op : forward.getBody().front())
    if (needed.contains(&op))
      cloneInto(&op, mapping, phase);
  auto values = llvm::map_to_vector(kept, [&](Value value) { return mapping.lookup(value); });
  leave(phase, values, {}, kept);
}

void StepBuilder::buildMicro() {
  constexpr const char *kNames[] = {"micro", "evaluation", "prediction"};
  loop = addPhase(kNames[purpose], /*isLoop=*/true, "micro-steps");
  bringKnown(loop, micro);
  cloneMicro(micro, loop);
  loss = micro.lookup(graph.loss);
}

void StepBuilder::finish(ArrayRef<std::pair<StringAttr, Value>> gradients, StringRef optimizer) {
  builder.setInsertionPointToEnd(&loop.getBlock());
  auto wide = nn::Placement::of(loss.getType()).place(RankedTensorType::get({}, builder.getF64Type()));
  // The reported loss is summed over micro-steps and devices in f64.
  Value logged =
      loss.getType() == wide ? loss : nn::CastOp::create(builder, step.getLoc(), wide, loss).getResult();
  SmallVector<Value> values = {logged};
  SmallVector<Attribute> targets = {builder.getStringAttr("loss")};
  for (auto [name, value] : sums) {
    values.push_back(value);
    targets.push_back(builder.getStringAttr(name));
  }
  for (auto [name, value] : gradients) {
    values.push_back(value);
    targets.push_back(FlatSymbolRefAttr::get(name));
  }
  endMicro(values, targets);
  if (purpose == Trains)
    buildUpdate(optimizer);
}

void StepBuilder::addScalars() {
  auto names = forward->getAttrOfType<ArrayAttr>(train::kScalarNames);
  if (!names)
    return;
  builder.setInsertionPointToEnd(&loop.getBlock());
  auto scalars = llvm::drop_begin(forward.getBody().front().getTerminator()->getOperands());
  for (auto [value, name] : llvm::zip_equal(scalars, names.getAsRange<StringAttr>())) {
    Value term = micro.lookup(value);
    auto wide = nn::Placement::of(term.getType()).place(RankedTensorType::get({}, builder.getF64Type()));
    if (term.getType() != wide)
      term = nn::CastOp::create(builder, value.getLoc(), wide, term);
    sums.emplace_back((train::kScalarPrefix + name.getValue()).str(), term);
  }
}

void StepBuilder::finishOutputs() {
  builder.setInsertionPointToEnd(&loop.getBlock());
  auto names = forward->getAttrOfType<ArrayAttr>(train::kOutputNames).getAsRange<StringAttr>();
  for (auto [value, name] : llvm::zip_equal(forward.getBody().front().getTerminator()->getOperands(), names))
    train::OutputOp::create(builder, value.getLoc(), micro.lookup(value), name);
  endMicro({}, {});
}

/// One result for each accumulator.
void StepBuilder::endMicro(ArrayRef<Value> values, ArrayRef<Attribute> targets) {
  SmallVector<Type> types;
  DenseSet<Attribute> seen;
  SymbolTableCollection symbols;
  for (auto [value, target] : llvm::zip_equal(values, targets)) {
    if (!seen.insert(target).second)
      continue;
    Type type = nn::slabOf(value.getType());
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(target))
      type = symbols.lookupNearestSymbolFrom<train::ParamOp>(step, symbol).getType();
    types.push_back(nn::Placement::replicated().place(type));
  }
  loop = leave(loop, values, targets, {});
  loop = train::withResults(loop, types, SmallVector<int64_t>(types.size(), -1));
}

void StepBuilder::buildUpdate(StringRef optimizer) {
  auto accumulators = loop.getAccumulators();
  train::PhaseOp phase = addPhase("update", /*isLoop=*/false, {});
  Value rates = phase.capture(hyper, step.getLoc());
  SymbolTableCollection symbols;
  for (auto [target, total] : llvm::zip_equal(accumulators, loop->getResults())) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(target);
    if (!symbol)
      continue;
    auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(step, symbol);
    Value gradient = phase.capture(total, param.getLoc());
    builder.setInsertionPointToEnd(&phase.getBlock());
    train::UpdateOp::create(builder, param.getLoc(), symbol, gradient, rates,
                            builder.getStringAttr(optimizer));
  }
  leave(phase, {}, {}, {});
}

} // namespace accum
