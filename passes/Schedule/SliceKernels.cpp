// SPDX-License-Identifier: Apache-2.0
// Copies of kernels for slices of samples.
#include "passes/Schedule/SliceKernels.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Plan/Slices.h"

using namespace mlir;

namespace accum {

namespace {

/// Bytes from a sample to the next; 0 where every slice sees the same bytes.
int64_t strideOf(Value value) {
  if (!nn::Placement::of(value.getType()).isBatched() || isHeldInSlices(value))
    return 0;
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

} // namespace

FlatSymbolRefAttr restKernel(train::CommandOp command) {
  return command->getAttrOfType<FlatSymbolRefAttr>(kRest);
}

void sliceKernels(train::StepOp step, train::PlanAttr plan, DenseMap<Value, int64_t> &slices) {
  Block &block = step.getMicro().front();
  SmallVector<train::CommandOp> group = slicedCommands(block);
  int64_t slice = plannedSlice(plan, group);
  if (slice == 0)
    return;
  SymbolTable symbols(step->getParentOfType<ModuleOp>());
  Builder builder(step.getContext());
  auto kernelFor = [&](train::CommandOp command, int64_t samples) {
    std::string name = (command.getKernel() + "_of" + Twine(samples)).str();
    auto kernel = symbols.lookup<func::FuncOp>(name);
    if (!kernel) {
      kernel = symbols.lookup<func::FuncOp>(command.getKernel()).clone();
      kernel.setName(name);
      kernel->setAttr(kSamples, builder.getI64IntegerAttr(samples));
      symbols.insert(kernel);
    }
    return FlatSymbolRefAttr::get(kernel);
  };
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (isHeldInSlices(result))
        slices[result] = slice;
  for (train::CommandOp command : group) {
    SmallVector<int64_t> strides;
    for (Value input : command.getInputs())
      strides.push_back(strideOf(input));
    for (OpResult result : command->getResults())
      strides.push_back(
          llvm::is_contained(command.getAccumulate(), static_cast<int64_t>(result.getResultNumber()))
              ? 0
              : strideOf(result));
    command->setAttr(kSlice, builder.getI64IntegerAttr(slice));
    command->setAttr(kStrides, builder.getDenseI64ArrayAttr(strides));
    if (int64_t rest = plan.getM() % slice)
      command->setAttr(kRest, kernelFor(command, rest));
    command.setKernelAttr(kernelFor(command, slice));
  }
}

} // namespace accum
