// SPDX-License-Identifier: Apache-2.0
// Softmaxes and extrema over masks of -inf, and quotients by sums of masks.
#include "passes/Differentiate/NanSources.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Origin.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

static bool isInfinite(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && isa<FloatType>(elements.getElementType()) &&
         llvm::any_of(elements.getValues<APFloat>(), [](const APFloat &x) { return x.isInfinity(); });
}

static bool changesShape(Operation *op) {
  return isa<nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp, nn::SliceOp, nn::ConcatOp, nn::PadOp,
             nn::CastOp>(op);
}

/// Whether samples decide it, and no trained parameter.
static bool isOfData(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(value, &slice, options);
  auto readsArgument = [](Operation *op) {
    return llvm::any_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  };
  return (isa<BlockArgument>(value) || llvm::any_of(slice, readsArgument)) &&
         llvm::none_of(slice, llvm::IsaPred<train::LoadParamOp>);
}

/// Whether the samples set elements to an infinity: a select that takes one by a condition of theirs.
static bool isMasked(Value value) {
  SmallVector<Value> work{value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
    bool picks = elementwise && elementwise.getFn() == Fn::select;
    if (picks && llvm::any_of(op->getOperands().drop_front(), isInfinite) && isOfData(op->getOperand(0)))
      return true;
    if (picks)
      llvm::append_range(work, op->getOperands().drop_front());
    else if (changesShape(op) ||
             (elementwise && (elementwise.getFn() == Fn::add || elementwise.getFn() == Fn::mul)))
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// A softmax that is guarded: its scores are something else in rows of -inf.
static bool isGuarded(Value scores) {
  auto select = scores.getDefiningOp<nn::ElementwiseOp>();
  auto dead = select && select.getFn() == Fn::select ? select.getOperand(0).getDefiningOp<nn::ElementwiseOp>()
                                                     : nn::ElementwiseOp();
  return dead && dead.getFn() == Fn::eq && isInfinite(dead.getOperand(1));
}

static bool isOnlyCompared(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (changesShape(user))
      return isOnlyCompared(user->getResult(0));
    auto elementwise = dyn_cast<nn::ElementwiseOp>(user);
    return elementwise && elementwise.getFn() >= Fn::eq && elementwise.getFn() <= Fn::ge;
  });
}

/// A sum over samples' own elements; that of the whole batch is a total, whose value is known when a step
/// ends.
static bool isSumOfData(Value divisor) {
  while (Operation *op = divisor.getDefiningOp()) {
    if (!changesShape(op))
      break;
    divisor = op->getOperand(0);
  }
  auto sum = divisor.getDefiningOp<nn::ReduceOp>();
  return sum && sum.getKind() == nn::ReduceKind::sum && isOfData(sum.getInput());
}

/// What is not finite where all is hidden, in the words of the manifest; empty where that cannot be.
static StringRef kindOf(Operation *op) {
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(op))
    return !isGuarded(softmax.getInput()) && isMasked(softmax.getInput()) ? "softmax" : "";
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    Value mask = attention.getHidden() == nn::HiddenScore::infinite ? attention.getMask() : Value();
    bool isBool = mask && cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1);
    return mask && (isBool ? isOfData(mask) : isMasked(mask)) ? "softmax" : "";
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    bool isExtremum = reduce.getKind() == nn::ReduceKind::max || reduce.getKind() == nn::ReduceKind::min;
    return isExtremum && isMasked(reduce.getInput()) && !isOnlyCompared(reduce) ? "extremum" : "";
  }
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (elementwise && elementwise.getFn() == Fn::div)
    return isSumOfData(elementwise.getOperand(1)) ? "quotient" : "";
  if (elementwise && elementwise.getFn() == Fn::reciprocal)
    return isSumOfData(elementwise.getOperand(0)) ? "quotient" : "";
  return "";
}

void markNanSources(func::FuncOp forward) {
  Builder builder(forward.getContext());
  SmallVector<Attribute> sources;
  for (Operation &op : forward.getBody().front()) {
    StringRef kind = kindOf(&op);
    std::vector<std::string> nodes = kind.empty() ? std::vector<std::string>() : nodeNames(op.getLoc());
    if (!nodes.empty())
      sources.push_back(
          builder.getDictionaryAttr({{builder.getStringAttr("kind"), builder.getStringAttr(kind)},
                                     {builder.getStringAttr("node"), builder.getStringAttr(nodes.front())}}));
  }
  if (!sources.empty())
    forward->getParentOp()->setAttr("accum.nan_sources", builder.getArrayAttr(sources));
}

} // namespace accum
