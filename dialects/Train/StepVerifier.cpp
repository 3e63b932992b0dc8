// SPDX-License-Identifier: Apache-2.0
// What holds of every step: its phases fit each other, its commands their kernels.
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accum::train {

namespace {

/// The parameter that `op` names, with a tensor of the type `value` has.
FailureOr<ParamOp> parameterOf(Operation *op, FlatSymbolRefAttr name, Type value,
                               SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(op, name);
  if (!param)
    return op->emitOpError("names ") << name << ", which is no parameter";
  if (nn::slabOf(param.getType()) != nn::slabOf(value))
    return op->emitOpError("has ") << nn::slabOf(value) << " for " << name << ", which is "
                                   << param.getType();
  return param;
}

bool isPlaced(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

} // namespace

LogicalResult LoadParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return parameterOf(*this, getParamAttr(), getType(), symbols);
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = parameterOf(*this, getParamAttr(), getGradient().getType(), symbols);
  if (failed(param))
    return failure();
  if (!runtime::findOptimizer(getOptimizer().str()))
    return emitOpError("has the optimizer `")
           << getOptimizer() << "`, which is none of " << runtime::optimizerNames();
  return param->getTrained()
             ? success()
             : LogicalResult(emitOpError("changes ") << getParamAttr() << ", which is frozen");
}

LogicalResult YieldOp::verify() {
  if (!getTargets().empty() && getTargets().size() != getValues().size())
    return emitOpError("adds ") << getValues().size() << " values to " << getTargets().size() << " targets";
  for (Attribute target : getTargets())
    if (!isa<StringAttr, FlatSymbolRefAttr>(target))
      return emitOpError("adds to ") << target << ", which is no scalar's name and no parameter";
  return success();
}

void ParamOp::build(OpBuilder &builder, OperationState &state, StringRef name, Type type, FileAttr source,
                    bool trained) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.type = TypeAttr::get(type);
  properties.source = source;
  if (trained)
    properties.trained = builder.getUnitAttr();
}

void CommandOp::build(OpBuilder &builder, OperationState &state, TypeRange results, FlatSymbolRefAttr kernel,
                      ValueRange inputs, int64_t id, PolyAttr flops, PolyAttr bytes) {
  state.addTypes(results);
  state.addOperands(inputs);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.kernel = kernel;
  properties.id = builder.getI64IntegerAttr(id);
  properties.flops = flops;
  properties.bytes = bytes;
  properties.accumulate = builder.getDenseI64ArrayAttr({});
  properties.may_alias = builder.getArrayAttr({});
}

LogicalResult CommandOp::verify() {
  if (getLibrary() && *getLibrary() != "gemm" && *getLibrary() != "attention")
    return emitOpError("asks for the library call ") << *getLibrary() << ", expected gemm or attention";
  auto results = static_cast<int64_t>(getNumResults()), inputs = static_cast<int64_t>(getInputs().size());
  for (int64_t result : getAccumulate())
    if (result < 0 || result >= results)
      return emitOpError("accumulates result ") << result << " of " << results;
  if (!getAccumulate().empty() && getLibrary() == "attention")
    return emitOpError("accumulates by the library call attention, which only writes");
  for (int64_t result : getSliced().value_or(ArrayRef<int64_t>()))
    if (result < 0 || result >= results)
      return emitOpError("holds result ") << result << " of " << results << " in slices";
  if (getNumbers() && static_cast<int64_t>(getNumbers()->size()) != results)
    return emitOpError("numbers ") << getNumbers()->size() << " of " << results << " results";
  if (TailAttr tail = getTailAttr(); tail && (tail.getResult() < 0 || tail.getResult() >= results))
    return emitOpError("has a tail that makes result ") << tail.getResult() << " of " << results;
  for (Attribute attribute : getMayAlias()) {
    auto pair = dyn_cast<DenseI64ArrayAttr>(attribute);
    if (!pair || pair.size() != 2 || pair[0] < 0 || pair[0] >= results || pair[1] < 0 || pair[1] >= inputs)
      return emitOpError("may_alias lists ") << attribute << ", expected a result and an operand";
  }
  return success();
}

/// Once the micro-batch size is bound, some commands work on slices: what they call is verified where it is
/// launched.
LogicalResult CommandOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return success(); // steps can be read without their kernels
  if (kernel.getNumArguments() != getInputs().size() || kernel.getNumResults() != getNumResults())
    return emitOpError("has ") << getInputs().size() << " operands and " << getNumResults() << " results, "
                               << getKernelAttr() << " has " << kernel.getNumArguments() << " and "
                               << kernel.getNumResults();
  FunctionType type = kernel.getFunctionType();
  if (llvm::none_of(llvm::concat<const Type>(type.getInputs(), type.getResults()), isPlaced))
    return success();
  if (!nn::sameSlabs(getInputs().getTypes(), type.getInputs()) ||
      !nn::sameSlabs(getResultTypes(), type.getResults()))
    return emitOpError("has other types than ") << getKernelAttr() << " : " << type;
  return success();
}

/// Of the step, or what an earlier phase leaves.
static LogicalResult verifyCaptures(PhaseOp phase) {
  if (phase.getBlock().getNumArguments() != phase.getCaptures().size())
    return phase.emitOpError("has ") << phase.getBlock().getNumArguments() << " arguments for "
                                     << phase.getCaptures().size() << " values";
  for (auto [argument, value] : llvm::zip(phase.getBlock().getArguments(), phase.getCaptures())) {
    if (argument.getType() != value.getType())
      return phase.emitOpError("has an argument of type ")
             << argument.getType() << " for a value of type " << value.getType();
    auto input = dyn_cast<BlockArgument>(value);
    if (!input || phase.getLoop())
      continue;
    if (isStaged(input))
      return phase.emitOpError("runs once and reads the input `")
             << inputName(input) << "`, which only loops do";
  }
  return success();
}

/// What is added up is the same elements, in any shape.
static bool holdsSum(Type result, Type term) {
  auto sum = cast<RankedTensorType>(result), value = cast<RankedTensorType>(term);
  return sum.getElementType() == value.getElementType() && sum.getNumElements() == value.getNumElements();
}

/// A loop leaves one sum for each accumulator, the others leave what they yield.
static LogicalResult verifyResults(PhaseOp phase) {
  YieldOp yield = phase.getYield();
  bool isLoop = phase.getLoop();
  if (isLoop ? yield.getTargets().size() != yield.getValues().size() : !yield.getTargets().empty())
    return phase.emitOpError(isLoop ? "is a loop and yields values without a target"
                                    : "runs once and adds to accumulators");
  llvm::MapVector<Attribute, Type> results;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    Attribute key = isLoop ? yield.getTargets()[i] : IntegerAttr::get(IndexType::get(yield.getContext()), i);
    results.insert({key, value.getType()});
  }
  if (results.size() != phase->getNumResults())
    return phase.emitOpError("has ") << phase->getNumResults() << " results for " << results.size()
                                     << (isLoop ? " accumulators" : " values");
  for (auto [result, expected] : llvm::zip(phase->getResultTypes(), results))
    if (isLoop ? !holdsSum(result, expected.second) : result != expected.second)
      return phase.emitOpError("has a result of type ")
             << result << " for a value of type " << expected.second;
  return success();
}

LogicalResult PhaseOp::verify() {
  for (PhaseOp other : (*this)->getParentOfType<StepOp>().getPhases()) {
    if (other == *this)
      break;
    if (other.getName() == getName())
      return emitOpError("has the name of an earlier phase, ") << getNameAttr();
  }
  return success();
}

LogicalResult PhaseOp::verifyRegions() {
  if (getBlock().empty() || !isa<YieldOp>(getBlock().back()))
    return emitOpError("does not end in train.yield");
  return failure(failed(verifyCaptures(*this)) || failed(verifyResults(*this)));
}

LogicalResult StepOp::verifyRegions() {
  for (Attribute input : getInputs()) {
    auto described = dyn_cast<DictionaryAttr>(input);
    if (!described || !described.getAs<StringAttr>("name"))
      return emitOpError("has an input without a name: ") << input;
  }
  if (getBlock().getNumArguments() != getInputs().size())
    return emitOpError("has ") << getBlock().getNumArguments() << " arguments for " << getInputs().size()
                               << " inputs";
  int64_t adding = 0;
  DenseSet<Attribute> accumulators;
  for (Operation &op : getBlock()) {
    auto phase = dyn_cast<PhaseOp>(op);
    if (!phase)
      return op.emitOpError("stands between the phases of a step");
    adding += phase.addsGradients() ? 1 : 0;
    for (Attribute accumulator : phase.getAccumulators())
      // The main loop adds the terms of the micro-step that this one leaves out.
      if (!phase->hasAttr(kRest) && isa<StringAttr>(accumulator) && !accumulators.insert(accumulator).second)
        return phase.emitOpError("adds to ") << accumulator << ", as an earlier phase does";
  }
  return adding <= 1 ? success() : LogicalResult(emitOpError("adds to gradients in ") << adding << " loops");
}

} // namespace accum::train
