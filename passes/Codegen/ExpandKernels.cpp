// SPDX-License-Identifier: Apache-2.0
// Composite ops into what elements are asked of; shapes without a meaning into flat ones.
#include "dialects/NN/Views.h"
#include "dialects/Train/RowPitch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "passes/Codegen/Expand.h"
#include "passes/Codegen/Passes.h"

namespace accum {
#define GEN_PASS_DEF_EXPANDKERNELS
#include "passes/Codegen/Passes.h.inc"
} // namespace accum

using namespace mlir;

namespace accum {
namespace {

SmallVector<Value> valuesOf(func::FuncOp kernel) {
  SmallVector<Value> values(kernel.getArguments());
  for (Operation &op : kernel.getBody().front())
    llvm::append_range(values, op.getResults());
  return values;
}

/// The one shape that all values have which are no scalars; nothing where axes mean something.
std::optional<SmallVector<int64_t>> commonShape(func::FuncOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    auto constant = dyn_cast<nn::ConstantOp>(op);
    bool splat = constant && constant.getValue().isSplat();
    if (!splat && !isa<nn::ElementwiseOp, nn::CastOp, nn::BroadcastOp>(op))
      return std::nullopt;
  }
  std::optional<SmallVector<int64_t>> shape;
  for (Value value : valuesOf(kernel)) {
    if (nn::tensorType(value).getNumElements() == 1)
      continue;
    if (shape && ArrayRef(*shape) != nn::tensorType(value).getShape())
      return std::nullopt;
    shape = SmallVector<int64_t>(nn::tensorType(value).getShape());
  }
  return shape;
}

/// Long rows instead of many short ones, where they lie one behind the other.
void flatten(func::FuncOp kernel) {
  std::optional<SmallVector<int64_t>> shape = commonShape(kernel);
  if (!shape || shape->size() < 2 || hasPitch(kernel))
    return;
  auto flat = [](Value value) {
    auto type = nn::tensorType(value);
    SmallVector<int64_t, 1> extents;
    if (type.getNumElements() != 1)
      extents.push_back(type.getNumElements());
    return RankedTensorType::get(extents, type.getElementType());
  };
  kernel.walk([&](nn::ConstantOp op) {
    op.setValueAttr(cast<DenseElementsAttr>(op.getValue()).resizeSplat(flat(op)));
  });
  for (Value value : valuesOf(kernel))
    value.setType(flat(value));
  Operation *yield = kernel.getBody().front().getTerminator();
  kernel.setType(
      FunctionType::get(kernel.getContext(), kernel.getBody().getArgumentTypes(), yield->getOperandTypes()));
}

struct ExpandKernels : impl::ExpandKernelsBase<ExpandKernels> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr("accum.kernel"))
      return;
    RewritePatternSet patterns(&getContext());
    codegen::addNormExpansions(patterns);
    codegen::addLossExpansions(patterns);
    walkAndApplyPatterns(kernel, std::move(patterns));
    flatten(kernel);
  }
};

} // namespace
} // namespace accum
