// SPDX-License-Identifier: Apache-2.0
// Copies of kernels for slices of samples.
#include "passes/Schedule/SliceKernels.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/RowAxis.h"
#include "dialects/Train/RowPitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Plan/Slices.h"

using namespace mlir;

namespace accum {

namespace {

/// Bytes from a sample to the next; 0 where every slice sees the same bytes.
int64_t strideOf(Value value) {
  if (!nn::Placement::of(value.getType()).isBatched() || isHeldInSlices(value))
    return 0;
  SymbolTableCollection symbols; // its producer may have got a new kernel just now
  return device::bytesOf(cast<RankedTensorType>(value.getType()), pitchOf(value, symbols));
}

} // namespace

train::SliceAttr withRest(train::SliceAttr slice, FlatSymbolRefAttr kernel) {
  return train::SliceAttr::get(slice.getContext(), slice.getSamples(), slice.getPart(), slice.getRows(),
                               slice.getStrides(), kernel);
}

FlatSymbolRefAttr restKernel(train::CommandOp command) {
  train::SliceAttr slice = command.getSliceAttr();
  return slice ? slice.getRest() : FlatSymbolRefAttr();
}

RankedTensorType bound(Type type, const Share &share) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  auto placement = nn::Placement::of(tensor);
  if (placement.isBatched())
    shape[placement.dim] *= share.samples;
  if (share.part > 0)
    if (auto axis = nn::rowAxis(tensor, share.rows))
      shape[*axis] = share.part;
  return RankedTensorType::get(shape, tensor.getElementType());
}

namespace {

/// Makes the kernels of a group, one for each size.
class Slicer {
public:
  Slicer(train::StepOp step, SliceSize size, int64_t rows)
      : symbols(step->getParentOfType<ModuleOp>()), builder(step.getContext()), samples(size.samples),
        part(size.pieces > 1 ? size.rowsOfPiece(rows) : 0), rows(rows) {}

  void slice(train::CommandOp command, int64_t m) {
    SmallVector<int64_t> strides;
    for (Value input : command.getInputs())
      strides.push_back(strideOf(input));
    for (OpResult result : command->getResults()) {
      auto number = static_cast<int64_t>(result.getResultNumber());
      strides.push_back(llvm::is_contained(command.getAccumulate(), number) ? 0 : strideOf(result));
    }
    FlatSymbolRefAttr last;
    if (int64_t rest = m % samples)
      last = kernelFor(command, {rest});
    else if (int64_t rest = part > 0 ? rows % part : 0)
      last = kernelFor(command, {samples, rest, rows});
    command.setSliceAttr(train::SliceAttr::get(builder.getContext(), samples, part, rows,
                                               builder.getDenseI64ArrayAttr(strides), last));
    command.setKernelAttr(kernelFor(command, {samples, part, rows}));
  }

private:
  FlatSymbolRefAttr kernelFor(train::CommandOp command, const Share &share) {
    std::string name = (command.getKernel() + "_of" + Twine(share.samples)).str();
    if (share.part > 0)
      name += "_rows" + std::to_string(share.part);
    auto kernel = symbols.lookup<func::FuncOp>(name);
    if (!kernel) {
      kernel = symbols.lookup<func::FuncOp>(command.getKernel()).clone();
      kernel.setName(name);
      kernel->setAttr(kSamples, builder.getI64IntegerAttr(share.samples));
      if (share.part > 0)
        kernel->setAttr(kSomeOfRows, builder.getDenseI64ArrayAttr({share.part, share.rows}));
      symbols.insert(kernel);
    }
    return FlatSymbolRefAttr::get(kernel);
  }

  SymbolTable symbols;
  Builder builder;
  int64_t samples, part, rows;
};

} // namespace

void sliceKernels(train::StepOp step, train::PlanAttr plan, DenseMap<Value, Share> &slices) {
  train::PhaseOp loop = step.getMainLoop();
  if (!loop)
    return;
  Block &block = loop.getBlock();
  SmallVector<train::CommandOp> group = slicedCommands(block);
  SliceSize size = plannedSlice(plan, group);
  if (size.isWhole(plan.getM()))
    return;
  int64_t rows = rowsToCut(group.front());
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (isHeldInSlices(result))
        slices[result] = {size.samples, size.pieces > 1 ? size.rowsOfPiece(rows) : 0, rows};
  Slicer slicer(step, size, rows);
  for (train::CommandOp command : group)
    slicer.slice(command, plan.getM());
}

} // namespace accum
