// SPDX-License-Identifier: Apache-2.0
// Splits a placed forward graph into the regions of a step.
#include "passes/Differentiate/StepBuilder.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
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
    if (isa<nn::TotalOp>(op)) {
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
  DenseSet<Value> constant; // replicated, and known before the micro loop
  for (Operation &op : block.without_terminator()) {
    bool reached = isTrained(&op, symbols) ||
                   llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); });
    bool early =
        isa<nn::TotalOp>(op) ||
        (!reached && !isa<nn::DropoutOp, nn::RandomOp, nn::ShareOp>(op) &&
         llvm::all_of(op.getOperands(), [&](Value v) { return constant.contains(v); }) &&
         llvm::all_of(op.getResultTypes(), [](Type t) { return nn::Placement::of(t).isReplicated(); }));
    for (Value result : op.getResults()) {
      if (reached && isFloat(result))
        active.insert(result);
      if (early)
        constant.insert(result);
    }
    if (early && !isa<nn::TotalOp>(op) && isWorthKeeping(&op))
      prologue.insert(&op);
  }
}

/// One dictionary per argument of the forward graph, without the dialect prefix, then rng.
static ArrayAttr describeInputs(func::FuncOp forward) {
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
  inputs.push_back(
      builder.getDictionaryAttr({{builder.getStringAttr("name"), builder.getStringAttr("rng")}}));
  return builder.getArrayAttr(inputs);
}

StepBuilder::StepBuilder(const ForwardGraph &graph, Purpose purpose, Operation *before)
    : builder(before), graph(graph), purpose(purpose), forward(graph.function) {
  step = train::StepOp::create(builder, forward.getLoc(), purpose == Trains ? "step" : "eval",
                               describeInputs(forward), builder.getArrayAttr({}),
                               std::max<size_t>(graph.prepasses.size(), 1) - 1);
  buildPrepasses();
  buildPrologue();
  buildMicro();
}

Block *StepBuilder::addBlock(Region &region) {
  Block *block = builder.createBlock(&region);
  builder.setInsertionPointToEnd(block);
  return block;
}

void StepBuilder::addInputs(Block *block, IRMapping &mapping) {
  Location loc = forward.getLoc();
  for (auto [i, argument] : llvm::enumerate(forward.getArguments())) {
    mapping.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
    auto name = forward.getArgAttrOfType<StringAttr>(i, "train.name");
    if (name && name.getValue() == "first_row")
      firstRow = block->getArguments().back();
  }
  auto keys = RankedTensorType::get({3}, builder.getI64Type());
  rng = block->addArgument(nn::Placement::replicated().place(keys), loc);
}

void StepBuilder::addTotals(Block *block, IRMapping &mapping, size_t prepasses) {
  for (ArrayRef<Operation *> totals : ArrayRef(graph.prepasses).take_front(prepasses))
    for (Operation *total : totals)
      mapping.map(total->getResult(0), block->addArgument(total->getResult(0).getType(), total->getLoc()));
}

void StepBuilder::addTotals(Block *block, IRMapping &mapping) {
  addTotals(block, mapping, graph.prepasses.size());
}

/// What evaluation has for a mask: all is kept.
static Value onesOf(OpBuilder &builder, nn::RandomOp mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  Attribute one = builder.getFloatAttr(type.getElementType(), 1);
  return nn::ConstantOp::create(builder, mask.getLoc(), type, DenseElementsAttr::get(type, one));
}

void StepBuilder::cloneInto(Operation *op, IRMapping &mapping, Block *block) {
  if (auto dropout = dyn_cast<nn::DropoutOp>(op); dropout && purpose == Evaluates)
    return mapping.map(dropout.getResult(), mapping.lookup(dropout.getInput()));
  builder.setInsertionPointToEnd(block);
  if (auto random = dyn_cast<nn::RandomOp>(op);
      random && random.getKind() == nn::RandomKind::mask && purpose == Evaluates)
    return mapping.map(random.getResult(), onesOf(builder, random));
  Operation *clone = builder.clone(*op, mapping);
  unsigned operands = clone->getNumOperands();
  if (isa<nn::DropoutOp>(clone))
    clone->insertOperands(operands, {rng, firstRow});
  else if (auto random = dyn_cast<nn::RandomOp>(clone))
    random.getSourceMutable().append({rng, firstRow});
  else if (isa<nn::ShareOp>(clone))
    clone->insertOperands(operands, {firstRow});
}

void StepBuilder::buildPrepasses() {
  for (auto [number, region] : llvm::enumerate(step.getPrepasses()))
    buildPrepass(*region, number);
}

void StepBuilder::buildPrepass(Region &region, size_t number) {
  Block *block = addBlock(region);
  IRMapping mapping;
  addInputs(block, mapping);
  addTotals(block, mapping, number);
  ArrayRef<Operation *> totals =
      graph.prepasses.empty() ? ArrayRef<Operation *>() : ArrayRef(graph.prepasses[number]);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !isa<nn::TotalOp>(op); };
  for (Operation *total : totals)
    if (Operation *producer = total->getOperand(0).getDefiningOp())
      (void)getBackwardSlice(producer, &slice, options);
  for (Operation &op : forward.getBody().front())
    if (slice.contains(&op))
      cloneInto(&op, mapping, block);
  SmallVector<Value> values;
  SmallVector<Attribute> targets;
  size_t before = 0;
  for (ArrayRef<Operation *> earlier : ArrayRef(graph.prepasses).take_front(number))
    before += earlier.size();
  for (auto [i, total] : llvm::enumerate(totals)) {
    values.push_back(mapping.lookup(total->getOperand(0)));
    targets.push_back(builder.getStringAttr("total" + std::to_string(before + i)));
  }
  builder.setInsertionPointToEnd(block);
  train::YieldOp::create(builder, step.getLoc(), values, builder.getArrayAttr(targets));
}

void StepBuilder::buildPrologue() {
  Block *block = addBlock(step.getPrologue());
  IRMapping mapping;
  addTotals(block, mapping);
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
  for (Operation &op : forward.getBody().front())
    if (needed.contains(&op))
      cloneInto(&op, mapping, block);
  auto values = llvm::map_to_vector(kept, [&](Value value) { return mapping.lookup(value); });
  builder.setInsertionPointToEnd(block);
  train::YieldOp::create(builder, step.getLoc(), values, builder.getArrayAttr({}));
}

void StepBuilder::buildMicro() {
  Block *block = addBlock(step.getMicro());
  addInputs(block, micro);
  addTotals(block, micro);
  for (Value value : kept)
    micro.map(value, block->addArgument(value.getType(), value.getLoc()));
  for (Operation &op : forward.getBody().front().without_terminator())
    if (!isa<nn::TotalOp>(op) && !graph.prologue.contains(&op))
      cloneInto(&op, micro, block);
  builder.setInsertionPointToEnd(block);
}

void StepBuilder::finish(ArrayRef<std::pair<StringAttr, Value>> gradients, StringRef optimizer) {
  builder.setInsertionPointToEnd(&step.getMicro().front());
  Value loss = micro.lookup(graph.loss);
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
  SetVector<Attribute> parameters;
  for (auto [name, value] : gradients) {
    values.push_back(value);
    targets.push_back(FlatSymbolRefAttr::get(name));
    parameters.insert(targets.back());
  }
  train::YieldOp::create(builder, step.getLoc(), values, builder.getArrayAttr(targets));
  step.setGradientsAttr(builder.getArrayAttr(parameters.getArrayRef()));
  buildUpdate(parameters.getArrayRef(), optimizer);
}

void StepBuilder::buildUpdate(ArrayRef<Attribute> parameters, StringRef optimizer) {
  Block *block = addBlock(step.getUpdate());
  Location loc = step.getLoc();
  auto hyperType = RankedTensorType::get({8}, builder.getF64Type());
  Value hyper = block->addArgument(nn::Placement::replicated().place(hyperType), loc);
  IRMapping unused;
  addTotals(block, unused);
  SymbolTableCollection symbols;
  for (Attribute parameter : parameters) {
    auto symbol = cast<FlatSymbolRefAttr>(parameter);
    auto param = symbols.lookupNearestSymbolFrom<train::ParamOp>(step, symbol);
    Value gradient = block->addArgument(nn::Placement::replicated().place(param.getType()), param.getLoc());
    builder.setInsertionPointToEnd(block);
    train::UpdateOp::create(builder, param.getLoc(), symbol, gradient, hyper,
                            builder.getStringAttr(optimizer));
  }
  builder.setInsertionPointToEnd(block);
  train::YieldOp::create(builder, loc, ValueRange(), builder.getArrayAttr({}));
}

} // namespace accum
