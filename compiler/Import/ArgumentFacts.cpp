// SPDX-License-Identifier: Apache-2.0
// Bounds of index inputs, found by following indices back to the arguments.
#include "compiler/Import/ArgumentFacts.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum::import {

/// The arguments whose elements reach `value` unchanged, through movement, casts and selects.
static void collectSources(Value value, SmallVectorImpl<BlockArgument> &sources) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    sources.push_back(argument);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp, nn::CastOp, nn::PadOp>(op))
    return collectSources(op->getOperand(0), sources);
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (elementwise && elementwise.getFn() == nn::ElementwiseFn::select) {
    collectSources(op->getOperand(1), sources);
    collectSources(op->getOperand(2), sources);
  }
}

static void bound(func::FuncOp function, Value indices, int64_t limit) {
  SmallVector<BlockArgument> sources;
  collectSources(indices, sources);
  for (BlockArgument argument : sources) {
    auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "train.bound");
    if (!known || known.getInt() > limit)
      function.setArgAttr(argument.getArgNumber(), "train.bound",
                          IntegerAttr::get(IntegerType::get(function.getContext(), 64), limit));
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
    bound(function, op.getLabels(), cast<RankedTensorType>(op.getLogits().getType()).getShape().back());
  });
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "train.name");
    StringRef how = synthesized(name.getValue());
    if (!how.empty())
      function.setArgAttr(i, "train.synthesize", StringAttr::get(function.getContext(), how));
  }
}

} // namespace accum::import
