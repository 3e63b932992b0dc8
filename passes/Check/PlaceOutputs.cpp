// SPDX-License-Identifier: Apache-2.0
// Outputs that a run predicts: those that are a row for each sample.
#include "passes/Check/PlaceOutputs.h"
#include "dialects/Train/Outputs.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Check/PlaceValues.h"
#include "passes/Check/RowMasks.h"

using namespace mlir;

namespace accum {
namespace {

/// Where nothing that is summed over the samples is part of it.
std::string whyNot(Value value) {
  nn::Placement placement = nn::Placement::of(value.getType());
  if (!placement.isBatched())
    return "relates samples to each other, or is the same for all of them";
  if (placement.dim != 0 || placement.outer != 1)
    return "does not have the rows of a sample one behind the other";
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (Operation *op = value.getDefiningOp())
    (void)getBackwardSlice(op, &slice, options);
  if (llvm::any_of(slice, llvm::IsaPred<nn::TotalOp, nn::ShareOp>))
    return "depends on all samples of its batch";
  return "";
}

void keepResults(func::FuncOp predict, Verdict &verdict) {
  Operation *end = predict.getBody().front().getTerminator();
  auto names = predict->getAttrOfType<ArrayAttr>(train::kOutputNames);
  SmallVector<Value> kept;
  SmallVector<Attribute> keptNames;
  for (auto [value, name] : llvm::zip_equal(end->getOperands(), names.getAsRange<StringAttr>())) {
    if (std::string why = whyNot(value); !why.empty()) {
      verdict.outputsLeftOut.emplace_back(name.str(), why);
      continue;
    }
    kept.push_back(value);
    keptNames.push_back(name);
  }
  end->setOperands(kept);
  predict->setAttr(train::kOutputNames, ArrayAttr::get(predict.getContext(), keptNames));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(predict.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The argument of `forward` that argument `number` of `predict` is, whose last two are the rows' in both.
std::optional<unsigned> argumentLike(func::FuncOp predict, unsigned number, unsigned own,
                                     func::FuncOp forward) {
  unsigned all = forward.getNumArguments();
  for (unsigned i = 0; i < all; ++i)
    if ((i + 2 >= all) == (number + 2 >= own) &&
        forward.getArgAttr(i, "train.name") == predict.getArgAttr(number, "train.name"))
      return i;
  return std::nullopt;
}

/// False where an input of the two is not the same.
bool takeArguments(func::FuncOp predict, func::FuncOp forward) {
  unsigned own = predict.getNumArguments();
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    (void)predict.insertArgument(own + i, forward.getArgument(i).getType(), forward.getArgAttrDict(i),
                                 forward.getArgument(i).getLoc());
  for (unsigned i = 0; i < own; ++i) {
    BlockArgument old = predict.getArgument(i);
    if (old.use_empty())
      continue;
    std::optional<unsigned> like = argumentLike(predict, i, own, forward);
    if (!like || forward.getArgument(*like).getType() != old.getType())
      return false;
    old.replaceAllUsesWith(predict.getArgument(own + *like));
  }
  llvm::BitVector gone(predict.getNumArguments());
  gone.set(0, own);
  (void)predict.eraseArguments(gone);
  return true;
}

} // namespace

void placeOutputs(func::FuncOp predict, func::FuncOp forward, Verdict &verdict) {
  Value valid = addRowArguments(predict);
  (void)countSamples(predict, valid);
  PlaceValues(predict, PlaceValues::Part).run();
  keepResults(predict, verdict);
  Block &body = predict.getBody().front();
  if (!takeArguments(predict, forward)) {
    for (auto name : predict->getAttrOfType<ArrayAttr>(train::kOutputNames).getAsRange<StringAttr>())
      verdict.outputsLeftOut.emplace_back(name.str(), "has the batch size as a part of its inputs' shapes");
    return predict.erase();
  }
  if (body.getTerminator()->getNumOperands() == 0)
    return predict.erase();
  predict.setType(FunctionType::get(predict.getContext(), body.getArgumentTypes(),
                                    body.getTerminator()->getOperandTypes()));
}

} // namespace accum
