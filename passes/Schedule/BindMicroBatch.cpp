// SPDX-License-Identifier: Apache-2.0
// Multiplies sample axes by the micro-batch size and numbers the kernels.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Plan/Slices.h"
#include "passes/Schedule/Passes.h"
#include "passes/Schedule/SliceKernels.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_BINDMICROBATCH
#include "passes/Schedule/Passes.h.inc"

namespace {

struct BindMicroBatch : impl::BindMicroBatchBase<BindMicroBatch> {
  using BindMicroBatchBase::BindMicroBatchBase;
  void runOnOperation() override;

  LogicalResult bindAttributes(Operation *op);
  void bindTypes(Operation *op);
  int64_t m = 1;
  DenseMap<Value, Share> slices; ///< values that are held in slices
};

/// Kernels that run on slices say what theirs have.
Share shareOfKernel(Operation *op, int64_t m) {
  auto kernel = dyn_cast<func::FuncOp>(op);
  kernel = kernel ? kernel : op->getParentOfType<func::FuncOp>();
  auto samples = kernel ? kernel->getAttrOfType<IntegerAttr>(kSamples) : IntegerAttr();
  auto part = kernel ? kernel->getAttrOfType<DenseI64ArrayAttr>(kSomeOfRows) : DenseI64ArrayAttr();
  Share share{samples ? samples.getInt() : m};
  if (part)
    share.part = part[0], share.rows = part[1];
  return share;
}

/// What the manifest says about each input, from the types that are about to be bound.
void describeInputs(train::StepOp step) {
  Builder builder(step.getContext());
  SmallVector<Attribute> inputs;
  for (auto [input, argument] :
       llvm::zip(step.getInputs().getAsRange<DictionaryAttr>(), step.getBlock().getArguments())) {
    NamedAttrList entries(input);
    entries.set("type", TypeAttr::get(argument.getType()));
    inputs.push_back(entries.getDictionary(step.getContext()));
  }
  step.setInputsAttr(builder.getArrayAttr(inputs));
}

/// A flag argument tells a kernel whether to write or to add: commands that accumulate other results than the
/// kernel's other callers get a copy of it. The kernel says so in `accumulate`.
void splitByAccumulation(ModuleOp module) {
  SymbolTable symbols(module);
  DenseMap<std::pair<Attribute, Attribute>, FlatSymbolRefAttr> versions;
  DenseSet<Attribute> taken;
  auto split = [&](FlatSymbolRefAttr symbol, train::CommandOp command) {
    Attribute accumulate = command.getAccumulateAttr();
    FlatSymbolRefAttr &version = versions[{symbol, accumulate}];
    if (version)
      return version;
    auto kernel = symbols.lookup<func::FuncOp>(symbol.getValue());
    if (!taken.insert(symbol).second) {
      kernel = kernel.clone();
      symbols.insert(kernel);
    }
    kernel->removeAttr("accumulate");
    if (!command.getAccumulate().empty())
      kernel->setAttr("accumulate", accumulate);
    return version = FlatSymbolRefAttr::get(kernel);
  };
  module.walk([&](train::CommandOp command) {
    if (command.getLibrary())
      return;
    command.setKernelAttr(split(command.getKernelAttr(), command));
    if (auto rest = restKernel(command))
      command.setSliceAttr(withRest(*command.getSlice(), split(rest, command)));
  });
}

/// Drops kernels without a caller, numbers those that are launched.
void numberKernels(ModuleOp module) {
  DenseSet<StringAttr> called, launched;
  module.walk([&](train::CommandOp command) {
    for (FlatSymbolRefAttr kernel : {command.getKernelAttr(), restKernel(command)}) {
      if (!kernel)
        continue;
      called.insert(kernel.getAttr());
      if (!command.getLibrary())
        launched.insert(kernel.getAttr());
    }
  });
  Builder builder(module.getContext());
  int64_t index = 0;
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!called.contains(kernel.getSymNameAttr()))
      kernel.erase();
    else if (launched.contains(kernel.getSymNameAttr()))
      kernel->setAttr("accum.kernel", builder.getI64IntegerAttr(index++));
}

/// What is drawn is numbered along the axis that holds the samples now.
template <class Op> void keyBySample(Op op) {
  auto placement = nn::Placement::of(op.getType());
  if (!placement.isBatched())
    return;
  op.setDim(placement.dim);
  op.setOuter(placement.outer);
  op.setRows(nn::slabOf(op.getType()).getDimSize(placement.dim) / placement.outer);
}

} // namespace

/// Attributes that count slab rows; called while the types still tell the placement.
LogicalResult BindMicroBatch::bindAttributes(Operation *op) {
  Share share = shareOfKernel(op, m);
  if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    auto placement = nn::Placement::of(slice.getInput().getType());
    if (!placement.isBatched())
      return success();
    SmallVector<int64_t> starts(slice.getStarts());
    starts[placement.dim] *= share.samples;
    slice.setStarts(starts);
  } else if (auto pad = dyn_cast<nn::PadOp>(op)) {
    auto placement = nn::Placement::of(pad.getInput().getType());
    if (!placement.isBatched())
      return success();
    SmallVector<int64_t> low(pad.getLow());
    low[placement.dim] *= share.samples;
    pad.setLow(low);
  } else if (auto dropout = dyn_cast<nn::DropoutOp>(op)) {
    keyBySample(dropout);
  } else if (auto random = dyn_cast<nn::RandomOp>(op)) {
    keyBySample(random);
  } else if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
    auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!nn::Placement::of(constant.getType()).isBatched())
      return success();
    if (!values || !values.isSplat())
      return op->emitOpError("differs from sample to sample");
    constant.setValueAttr(values.resizeSplat(bound(constant.getType(), share)));
  }
  return success();
}

void BindMicroBatch::bindTypes(Operation *op) {
  Share share = shareOfKernel(op, m);
  for (Value result : op->getResults()) {
    auto slice = slices.find(result);
    result.setType(bound(result.getType(), slice == slices.end() ? share : slice->second));
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(bound(argument.getType(), share));
  if (auto kernel = dyn_cast<func::FuncOp>(op)) {
    auto bind = [&](Type type) -> Type { return bound(type, share); };
    auto inputs = llvm::map_to_vector(kernel.getArgumentTypes(), bind);
    auto results = llvm::map_to_vector(kernel.getResultTypes(), bind);
    kernel.setFunctionType(FunctionType::get(op->getContext(), inputs, results));
  }
}

void BindMicroBatch::runOnOperation() {
  ModuleOp module = getOperation();
  auto plan = module->getAttrOfType<train::PlanAttr>("train.plan");
  if (!plan) {
    module.emitError("has no train.plan");
    return signalPassFailure();
  }
  m = plan.getM();
  for (auto step : module.getOps<train::StepOp>()) {
    describeInputs(step);
    sliceKernels(step, plan, slices);
  }
  auto attributes = module.walk([&](Operation *op) {
    return failed(bindAttributes(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (attributes.wasInterrupted())
    return signalPassFailure();
  module.walk([&](Operation *op) {
    if (op != module)
      bindTypes(op);
  });
  splitByAccumulation(module);
  numberKernels(module);
}

} // namespace accum
