// SPDX-License-Identifier: Apache-2.0
// Bounds of index inputs, found by following indices back to the arguments.
#include "compiler/Import/ArgumentFacts.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum::import {

/// An argument whose elements reach some value unchanged, and the one number that is replaced on the way.
struct Source {
  BlockArgument argument;
  std::optional<int64_t> ignored;
};

/// c, where `condition` is x == c or x != c.
static std::optional<int64_t> singledOut(Value condition) {
  auto compare = condition.getDefiningOp<nn::ElementwiseOp>();
  if (compare && compare.getFn() == nn::ElementwiseFn::logical_not)
    return singledOut(compare->getOperand(0));
  if (!compare || (compare.getFn() != nn::ElementwiseFn::eq && compare.getFn() != nn::ElementwiseFn::ne))
    return std::nullopt;
  for (Value operand : compare->getOperands())
    if (auto constant = operand.getDefiningOp<nn::ConstantOp>())
      if (auto values = dyn_cast<DenseIntElementsAttr>(constant.getValue()); values && values.isSplat())
        return values.getSplatValue<APInt>().getSExtValue();
  return std::nullopt;
}

/// Through movement, casts and selects.
static void collectSources(Value value, std::optional<int64_t> ignored, SmallVectorImpl<Source> &sources) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    sources.push_back({argument, ignored});
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp, nn::CastOp, nn::PadOp>(op))
    return collectSources(op->getOperand(0), ignored, sources);
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (!elementwise || elementwise.getFn() != nn::ElementwiseFn::select)
    return;
  if (!ignored)
    ignored = singledOut(op->getOperand(0));
  collectSources(op->getOperand(1), ignored, sources);
  collectSources(op->getOperand(2), ignored, sources);
}

static void bound(func::FuncOp function, Value indices, int64_t limit, std::optional<int64_t> ignored = {}) {
  SmallVector<Source> sources;
  collectSources(indices, ignored, sources);
  Builder builder(function.getContext());
  for (const Source &source : sources) {
    unsigned number = source.argument.getArgNumber();
    auto known = function.getArgAttrOfType<IntegerAttr>(number, "train.bound");
    if (!known || known.getInt() > limit)
      function.setArgAttr(number, "train.bound", builder.getI64IntegerAttr(limit));
    if (source.ignored)
      function.setArgAttr(number, "train.ignore_index", builder.getI64IntegerAttr(*source.ignored));
  }
}

static StringRef synthesized(StringRef name) {
  if (name == "attention_mask")
    return "ones";
  if (name == "position_ids")
    return "iota";
  return name == "token_type_ids" ? "zeros" : "";
}

void annotateArguments(func::FuncOp function) {
  function.walk([&](nn::GatherOp op) {
    auto input = cast<RankedTensorType>(op.getInput().getType());
    bound(function, op.getIndices(), input.getDimSize(static_cast<int64_t>(op.getAxis())));
  });
  function.walk([&](nn::CrossEntropyOp op) {
    std::optional<int64_t> ignored;
    if (auto index = op.getIgnoreIndexAttr())
      ignored = index.getInt();
    bound(function, op.getLabels(), cast<RankedTensorType>(op.getLogits().getType()).getShape().back(),
          ignored);
  });
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "train.name");
    StringRef how = synthesized(name.getValue());
    if (!how.empty())
      function.setArgAttr(i, "train.synthesize", StringAttr::get(function.getContext(), how));
  }
}

} // namespace accum::import
