// SPDX-License-Identifier: Apache-2.0
// A step's phases: what they are, what they hand to each other, how they are written.
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accum::train {

SmallVector<PhaseOp> StepOp::getPhases() { return llvm::to_vector(getBlock().getOps<PhaseOp>()); }

PhaseOp StepOp::getMainLoop() {
  PhaseOp last;
  for (PhaseOp phase : getPhases()) {
    if (phase.addsGradients())
      return phase;
    if (phase.getLoop())
      last = phase;
  }
  return last;
}

PhaseOp StepOp::getUpdate() {
  for (PhaseOp phase : getPhases())
    if (phase.updates())
      return phase;
  return {};
}

ArrayAttr StepOp::getGradients() {
  SmallVector<Attribute> gradients;
  if (PhaseOp loop = getMainLoop())
    for (Attribute target : loop.getAccumulators())
      if (isa<FlatSymbolRefAttr>(target))
        gradients.push_back(target);
  return ArrayAttr::get(getContext(), gradients);
}

YieldOp PhaseOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

SmallVector<Attribute> PhaseOp::getAccumulators() {
  llvm::SetVector<Attribute> accumulators;
  for (Attribute target : getYield().getTargets())
    accumulators.insert(target);
  return accumulators.takeVector();
}

bool PhaseOp::addsGradients() {
  return getLoop() && llvm::any_of(getYield().getTargets(), llvm::IsaPred<FlatSymbolRefAttr>);
}

bool PhaseOp::updates() { return llvm::any_of(getBlock(), llvm::IsaPred<StoreOp, UpdateOp>); }

BlockArgument PhaseOp::capture(Value value, Location location) {
  for (auto [argument, captured] : llvm::zip(getBlock().getArguments(), getCaptures()))
    if (captured == value)
      return argument;
  getCapturesMutable().append(value);
  return getBlock().addArgument(value.getType(), location);
}

void PhaseOp::build(OpBuilder &builder, OperationState &state, StringRef name, bool loop, StringRef title) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.name = builder.getStringAttr(name);
  if (loop)
    properties.loop = builder.getUnitAttr();
  if (!title.empty())
    properties.title = builder.getStringAttr(title);
  state.addRegion()->emplaceBlock();
}

PhaseOp withResults(PhaseOp phase, TypeRange types, ArrayRef<int64_t> sources) {
  OpBuilder builder(phase);
  OperationState state(phase.getLoc(), PhaseOp::getOperationName(), phase.getCaptures(), types, {});
  state.getOrAddProperties<PhaseOp::Properties>() = phase.getProperties();
  state.addAttributes(llvm::to_vector(phase->getDiscardableAttrs()));
  state.addRegion()->takeBody(phase.getBody());
  auto made = cast<PhaseOp>(builder.create(state));
  for (auto [result, source] : llvm::zip_equal(made->getResults(), sources))
    if (source >= 0)
      phase->getResult(static_cast<unsigned>(source)).replaceAllUsesWith(result);
  phase.erase();
  return made;
}

Value keep(PhaseOp once, Value value) {
  YieldOp yield = once.getYield();
  auto sources = llvm::to_vector(llvm::seq<int64_t>(0, once->getNumResults()));
  SmallVector<Type> types(once->getResultTypes());
  sources.push_back(-1);
  types.push_back(value.getType());
  yield->insertOperands(yield->getNumOperands(), value);
  return withResults(once, types, sources)->getResults().back();
}

PhaseOp forget(PhaseOp once, Value result) {
  auto number = static_cast<int64_t>(cast<OpResult>(result).getResultNumber());
  SmallVector<int64_t> sources;
  SmallVector<Type> types;
  for (int64_t i = 0; i < once->getNumResults(); ++i)
    if (i != number) {
      sources.push_back(i);
      types.push_back(once->getResult(i).getType());
    }
  once.getYield()->eraseOperand(number);
  return withResults(once, types, sources);
}

Value keptValue(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto phase = argument ? dyn_cast<PhaseOp>(argument.getOwner()->getParentOp()) : PhaseOp();
  auto result = phase ? dyn_cast<OpResult>(phase.sourceOf(argument)) : OpResult();
  auto once = result ? dyn_cast<PhaseOp>(result.getOwner()) : PhaseOp();
  return once && !once.getLoop() ? once.getYield().getValues()[result.getResultNumber()] : Value();
}

void dropUnusedCaptures(StepOp step) {
  for (PhaseOp phase : step.getPhases())
    for (unsigned i = phase.getCaptures().size(); i-- > 0;)
      if (phase.getBlock().getArgument(i).use_empty()) {
        phase.getBlock().eraseArgument(i);
        phase.getCapturesMutable().erase(i);
      }
}

PhaseOp onceBefore(PhaseOp phase) {
  // What runs on the way through the loop is too late for it.
  if (auto kept = keptForward(phase->getParentOfType<StepOp>()); kept && kept->micro == phase)
    phase = kept->encode;
  for (Operation *op = phase->getPrevNode(); op; op = op->getPrevNode())
    if (auto once = dyn_cast<PhaseOp>(op);
        once && !once.getLoop() && !once.updates() && !once->hasAttr(kLeavesInState))
      return once;
  OpBuilder builder(phase);
  auto once = PhaseOp::create(builder, phase.getLoc(), "prologue", /*loop=*/false,
                              "prologue: what does not depend on the micro-batch");
  builder.setInsertionPointToEnd(&once.getBlock());
  YieldOp::create(builder, phase.getLoc(), ValueRange(), builder.getArrayAttr({}));
  return once;
}

StringRef inputName(BlockArgument input) {
  auto step = cast<StepOp>(input.getOwner()->getParentOp());
  return cast<DictionaryAttr>(step.getInputs()[input.getArgNumber()]).getAs<StringAttr>("name").getValue();
}

/// Ours come after the model's, which may have the same names: of each name the last one, and `hyper` last of
/// all.
StringRef madeInput(BlockArgument input) {
  auto step = cast<StepOp>(input.getOwner()->getParentOp());
  StringRef name = inputName(input);
  if (name == "hyper")
    return input.getArgNumber() + 1 == step.getInputs().size() ? name : "";
  if (name != "rng" && name != "valid" && name != "first_row")
    return "";
  for (BlockArgument later : step.getBlock().getArguments().drop_front(input.getArgNumber() + 1))
    if (inputName(later) == name)
      return "";
  return name;
}

bool isStaged(BlockArgument input) { return madeInput(input) != "rng" && madeInput(input) != "hyper"; }

/// `"name" loop "title"(%argument: type = %value, ...) -> (types) attributes {...} { ... }`
ParseResult PhaseOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  if (parser.parseAttribute(properties.name))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("loop")))
    properties.loop = parser.getBuilder().getUnitAttr();
  else if (parser.parseKeyword("once"))
    return failure();
  StringAttr title;
  if (OptionalParseResult parsed = parser.parseOptionalAttribute(title); parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    properties.title = title;
  }
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseCapture = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    OpAsmParser::Argument &argument = arguments.emplace_back();
    return failure(parser.parseArgument(argument, /*allowType=*/true) || parser.parseEqual() ||
                   parser.parseOperand(operand) ||
                   parser.resolveOperand(operand, argument.type, state.operands));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseCapture) ||
      parser.parseOptionalArrowTypeList(state.types) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), arguments, /*enableNameShadowing=*/true))
    return failure();
  return success();
}

void PhaseOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getNameAttr() << (getLoop() ? " loop" : " once");
  if (getTitle())
    printer << ' ' << getTitleAttr();
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBlock().getArguments(), getCaptures()), printer, [&](auto capture) {
    printer.printRegionArgument(std::get<0>(capture));
    printer << " = " << std::get<1>(capture);
  });
  printer << ')';
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"name", "loop", "title"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace accum::train
