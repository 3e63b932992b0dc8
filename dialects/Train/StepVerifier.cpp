// SPDX-License-Identifier: Apache-2.0
// What holds of every step: its regions fit each other, its commands their kernels.
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/artifact/Optimizers.h"

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

static YieldOp yieldOf(Region &region) { return cast<YieldOp>(region.front().getTerminator()); }

SmallVector<Region *> StepOp::getPrepasses() {
  SmallVector<Region *> regions = {&getPrepass()};
  llvm::append_range(regions, llvm::make_pointer_range(getThen()));
  return regions;
}

SmallVector<Region *> StepOp::getRegionsInOrder() {
  SmallVector<Region *> regions = getPrepasses();
  regions.append({&getPrologue(), &getMicro(), &getUpdate()});
  return regions;
}

SmallVector<Value> StepOp::getTotals() {
  SmallVector<Value> totals;
  for (Region *region : getPrepasses())
    llvm::append_range(totals, yieldOf(*region).getValues());
  return totals;
}

SmallVector<Attribute> StepOp::getTotalTargets() {
  SmallVector<Attribute> targets;
  for (Region *region : getPrepasses())
    llvm::append_range(targets, yieldOf(*region).getTargets());
  return targets;
}

/// The first one knows no totals, each other one those of all before it.
static LogicalResult verifyPrepasses(StepOp step) {
  size_t inputs = step.getInputs().size(), known = yieldOf(step.getPrepass()).getValues().size();
  if (step.getPrepass().getNumArguments() > inputs)
    return step.emitOpError("has a prepass of ")
           << step.getPrepass().getNumArguments() << " arguments for " << inputs << " inputs";
  for (Region &region : step.getThen()) {
    if (region.getNumArguments() != inputs + known)
      return step.emitOpError("has a later prepass of ")
             << region.getNumArguments() << " arguments for " << inputs << " inputs and " << known
             << " totals of those before";
    known += yieldOf(region).getValues().size();
  }
  return success();
}

/// The table of `train.step`'s description, in numbers.
LogicalResult StepOp::verifyRegions() {
  for (Region *region : getRegionsInOrder())
    if (region->empty() || region->front().empty() || !isa<YieldOp>(region->front().back()))
      return emitOpError("has a region that does not end in train.yield");
  for (Attribute input : getInputs()) {
    auto described = dyn_cast<DictionaryAttr>(input);
    if (!described || !described.getAs<StringAttr>("name"))
      return emitOpError("has an input without a name: ") << input;
  }
  if (failed(verifyPrepasses(*this)))
    return failure();
  size_t inputs = getInputs().size(), totals = getTotals().size();
  size_t kept = yieldOf(getPrologue()).getValues().size(), gradients = getGradients().size();
  if (getPrologue().getNumArguments() != totals)
    return emitOpError("has a prologue of ")
           << getPrologue().getNumArguments() << " arguments for " << totals << " totals";
  if (getMicro().getNumArguments() < inputs + totals + kept)
    return emitOpError("has a micro-step of ")
           << getMicro().getNumArguments() << " arguments for " << inputs << " inputs, " << totals
           << " totals and " << kept << " values of the prologue";
  if (getUpdate().getNumArguments() != 0 && getUpdate().getNumArguments() != 1 + totals + gradients)
    return emitOpError("has an update of ") << getUpdate().getNumArguments() << " arguments for hyper, "
                                            << totals << " totals and " << gradients << " gradients";
  for (Attribute target : yieldOf(getMicro()).getTargets())
    if (isa<FlatSymbolRefAttr>(target) && !llvm::is_contained(getGradients(), target))
      return emitOpError("adds to the gradient of ") << target << ", which it does not list";
  return success();
}

} // namespace accum::train
