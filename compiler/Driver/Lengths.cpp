// SPDX-License-Identifier: Apache-2.0
// One model at several sizes of a dimension: what the modules have in common before they are planned.
#include "compiler/Driver/Lengths.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Check/RowMasks.h"

using namespace mlir;

namespace accum::driver {
namespace {

func::FuncOp forwardOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("forward"); }

SmallVector<Operation *> drawsOf(ModuleOp module) {
  SmallVector<Operation *> draws;
  for (Operation &op : forwardOf(module).getBody().front())
    if (isa<nn::DropoutOp, nn::RandomOp>(op))
      draws.push_back(&op);
  return draws;
}

int64_t keyOf(Operation *draw) {
  auto dropout = dyn_cast<nn::DropoutOp>(draw);
  return static_cast<int64_t>(dropout ? dropout.getKey() : cast<nn::RandomOp>(draw).getKey());
}

/// The axis that holds the samples as two.
SmallVector<int64_t> numberedAs(Value drawn) {
  auto type = cast<RankedTensorType>(drawn.getType());
  nn::Placement placement = nn::Placement::of(type);
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (placement.isBatched() && static_cast<int64_t>(axis) == static_cast<int64_t>(placement.dim))
      shape.append({static_cast<int64_t>(placement.outer), extent / static_cast<int64_t>(placement.outer)});
    else
      shape.push_back(extent);
  return shape;
}

} // namespace

LogicalResult keyDraws(ArrayRef<ModuleOp> sizes) {
  SmallVector<Operation *> largest = drawsOf(sizes.back());
  if (largest.empty())
    return success();
  for (ModuleOp module : sizes) {
    SmallVector<Operation *> own = drawsOf(module);
    auto isSame = [](Operation *a, Operation *b) {
      return a->getName() == b->getName() && keyOf(a) == keyOf(b);
    };
    if (!llvm::equal(own, largest, isSame))
      return module.emitError("draws other random numbers at one size than at another: one size, --dim "
                              "NAME=SIZE, compiles [unsupported]");
    for (auto [draw, like] : llvm::zip_equal(own, largest)) {
      SmallVector<int64_t> shape = numberedAs(like->getResult(0));
      if (shape != numberedAs(draw->getResult(0)))
        draw->setAttr("keyed", DenseI64ArrayAttr::get(module.getContext(), shape));
    }
    addPositionArgument(forwardOf(module));
  }
  return success();
}

std::vector<LengthInput> lengthInputs(ModuleOp module, ArrayRef<PaddedInput> inputs) {
  std::vector<LengthInput> named;
  for (const PaddedInput &input : inputs) {
    auto name = forwardOf(module).getArgAttrOfType<StringAttr>(input.argument, "train.name");
    named.push_back({name.str(), input.axis, input.fill, input.isMask});
  }
  return named;
}

LogicalResult notePadding(ModuleOp module, ArrayRef<PaddedInput> inputs, int64_t dim) {
  func::FuncOp forward = forwardOf(module);
  Builder builder(module.getContext());
  for (const PaddedInput &input : inputs) {
    auto name = forward.getArgAttrOfType<StringAttr>(input.argument, "train.name");
    auto type = cast<RankedTensorType>(forward.getArgument(input.argument).getType());
    nn::Placement placement = nn::Placement::of(type);
    bool isRow = placement.isBatched() && placement.dim == 0 && type.getDimSize(0) == 1 && input.axis > 0;
    if (!isRow || forward.getArgAttr(input.argument, "train.padded"))
      return module.emitError()
             << "input " << name
             << (isRow ? " has two axes that are padded" : " does not begin with its samples")
             << ", which several sizes need: one size, --dim NAME=SIZE, compiles [unsupported]";
    forward.setArgAttr(
        input.argument, "train.padded",
        builder.getDictionaryAttr({builder.getNamedAttr("axis", builder.getI64IntegerAttr(input.axis)),
                                   builder.getNamedAttr("dim", builder.getI64IntegerAttr(dim)),
                                   builder.getNamedAttr("fill", builder.getF64FloatAttr(input.fill)),
                                   builder.getNamedAttr("mask", builder.getBoolAttr(input.isMask)),
                                   builder.getNamedAttr("ones", builder.getBoolAttr(input.isOnes))}));
  }
  return success();
}

} // namespace accum::driver
