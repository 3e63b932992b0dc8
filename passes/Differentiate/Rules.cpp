// SPDX-License-Identifier: Apache-2.0
// The table of derivative rules, and those of contractions, reductions, gathers, losses, randomness and
// accumulation.
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Vjp.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

/// Gradients of weights come first: an activation that only they read is gone before the cotangent that goes
/// on is there.
static LogicalResult differentiateContract(Vjp &v, nn::ContractOp op) {
  std::string lhs = op.lhsLetters().str(), rhs = op.rhsLetters().str(), result = op.resultLetters().str();
  bool rhsIsBatched = nn::Placement::of(op.getRhs().getType()).isBatched();
  for (unsigned operand : {rhsIsBatched ? 0u : 1u, rhsIsBatched ? 1u : 0u})
    if (v.wants(operand))
      v.give(operand, operand == 0 ? v.contract(result + "," + rhs + "->" + lhs, v.cotangent(), op.getRhs())
                                   : v.contract(lhs + "," + result + "->" + rhs, op.getLhs(), v.cotangent()));
  return success();
}

/// A reduction's result or cotangent, spread over the input again.
static Value spread(Vjp &v, nn::ReduceOp op, Value value) {
  return nn::BroadcastOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()),
                                 v.unsqueeze(value, op.getAxes()));
}

/// dx[i] = dy * product of the others, exact where some are zero: with none, the product over x[i]; with one,
/// only that one's is not 0.
static void differentiateProduct(Vjp &v, nn::ReduceOp op) {
  Value x = op.getInput(), zero = v.constant(0, x), one = v.constant(1, x);
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  Value isZero = v.map(Fn::eq, {x, zero}), counted = v.cast(isZero, element);
  Value others = v.select(isZero, one, x);
  Value product = nn::ReduceOp::create(v.builder, op.getLoc(), nn::ReduceKind::prod, others, op.getAxes());
  Value zeros = v.sub(v.unsqueeze(v.sum(counted, op.getAxes()), op.getAxes()), counted);
  Value each = v.div(v.unsqueeze(v.mul(v.cotangent(), product), op.getAxes()), others);
  v.give(0, v.select(v.map(Fn::eq, {zeros, zero}), each, zero));
}

/// The whole cotangent goes to the first of the extrema, as in PyTorch's max over an axis.
static void giveToFirst(Vjp &v, nn::ReduceOp op) {
  auto x = cast<TypedValue<RankedTensorType>>(op.getInput());
  int64_t axis = op.getAxes().front();
  Type integer = v.builder.getI64Type();
  auto rows = cast<RankedTensorType>(op.getType());
  Value index = nn::ArgReduceOp::create(v.builder, op.getLoc(), rows.clone(integer), op.getKind(), x, axis);
  SmallVector<int64_t> line(x.getType().getRank(), 1);
  line[axis] = x.getType().getDimSize(axis);
  auto places = nn::Placement::replicated().place(RankedTensorType::get(line, integer));
  Value place = nn::IotaOp::create(v.builder, op.getLoc(), places, axis);
  Value isFirst = v.map(Fn::eq, {place, v.unsqueeze(index, op.getAxes())});
  v.give(0, v.mul(v.cast(isFirst, x.getType().getElementType()), v.unsqueeze(v.cotangent(), op.getAxes())));
}

static LogicalResult differentiateReduce(Vjp &v, nn::ReduceOp op) {
  if (op.getKind() == nn::ReduceKind::sum) {
    v.give(0, spread(v, op, v.cotangent()));
    return success();
  }
  if (op.getKind() == nn::ReduceKind::prod) {
    differentiateProduct(v, op);
    return success();
  }
  if (op.getFirst()) {
    giveToFirst(v, op);
    return success();
  }
  // Elements that tie for the extremum share its cotangent equally, as in PyTorch's amax.
  Value x = op.getInput();
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  Value hit = v.cast(v.map(Fn::eq, {x, v.unsqueeze(op.getResult(), op.getAxes())}), element);
  Value each = v.div(v.cotangent(), v.sum(hit, op.getAxes()));
  v.give(0, v.mul(hit, v.unsqueeze(each, op.getAxes())));
  return success();
}

/// Each element has a share exp(x - y) of every later y, pair by pair: the sum of what is given to those,
/// times exp(-y), can leave the range where its product with exp(x) does not.
static LogicalResult differentiateLogCumSum(Vjp &v, nn::CumSumOp op) {
  auto axis = static_cast<int64_t>(op.getAxis());
  auto x = cast<TypedValue<RankedTensorType>>(op.getInput());
  Type integer = v.builder.getI64Type();
  auto place = [&](int64_t dim) -> Value {
    SmallVector<int64_t> line(x.getType().getRank() + 1, 1);
    line[dim] = x.getType().getDimSize(axis);
    auto type = nn::Placement::replicated().place(RankedTensorType::get(line, integer));
    return nn::IotaOp::create(v.builder, op.getLoc(), type, dim);
  };
  auto later = [&](Value value) { return v.unsqueeze(value, {axis}); };
  Value rest = v.sub(v.unsqueeze(x, {axis + 1}), later(op.getResult()));
  Value counts = v.map(op.getReverse() ? Fn::ge : Fn::le, {place(axis), place(axis + 1)});
  Value share = v.select(counts, v.map(Fn::exp, {rest}), v.constant(0, x));
  v.give(0, v.sum(v.mul(share, later(v.cotangent())), {axis + 1}));
  return success();
}

static LogicalResult differentiateCumSum(Vjp &v, nn::CumSumOp op) {
  if (op.getLog())
    return differentiateLogCumSum(v, op);
  auto dx = nn::CumSumOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()), v.cotangent(),
                                 op.getAxisAttr(), op.getExclusiveAttr(), UnitAttr(), UnitAttr());
  dx.setReverse(!op.getReverse());
  v.give(0, dx);
  return success();
}

static LogicalResult differentiateGather(Vjp &v, nn::GatherOp op) {
  v.give(0, nn::ScatterAddOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()), op.getIndices(),
                                     v.cotangent(), op.getAxis(), op.getBatchDims()));
  return success();
}

static LogicalResult differentiateScatterAdd(Vjp &v, nn::ScatterAddOp op) {
  v.give(1, nn::GatherOp::create(v.builder, op.getLoc(), v.cotangent(), op.getIndices(), op.getAxis(),
                                 op.getBatchDims()));
  return success();
}

static LogicalResult differentiateGatherElements(Vjp &v, nn::GatherElementsOp op) {
  v.give(0, nn::ScatterElementsAddOp::create(v.builder, op.getLoc(), v.cotangentType(op.getInput()),
                                             op.getIndices(), v.cotangent(), op.getAxis()));
  return success();
}

static LogicalResult differentiateScatterElementsAdd(Vjp &v, nn::ScatterElementsAddOp op) {
  v.give(1, nn::GatherElementsOp::create(v.builder, op.getLoc(), v.cotangentType(op.getUpdates()),
                                         v.cotangent(), op.getIndices(), op.getAxis()));
  return success();
}

/// dlogits through the loss; through the log-sum-exp, its derivative is the softmax.
static LogicalResult differentiateCrossEntropy(Vjp &v, nn::CrossEntropyOp op) {
  if (v.cotangent(0))
    v.give(0, nn::CrossEntropyGradOp::create(v.builder, op.getLoc(), op.getLogits(), op.getLabels(),
                                             op.getLse(), v.cotangent(), op.getIgnoreIndexAttr()));
  if (v.cotangent(1)) {
    int64_t classes = cast<RankedTensorType>(op.getLogits().getType()).getRank() - 1;
    Value softmax = v.map(Fn::exp, {v.sub(op.getLogits(), v.unsqueeze(op.getLse(), classes))});
    v.give(0, v.mul(softmax, v.unsqueeze(v.cotangent(1), classes)));
  }
  return success();
}

/// Weights are computed again from the scores: nothing of their size is kept.
static LogicalResult differentiateAttention(Vjp &v, nn::AttentionOp op) {
  if (v.cotangent(1))
    return op.emitOpError("has no derivative through its statistics");
  if (op.getMask() && v.wants(3))
    return op.emitOpError("has no derivative through its mask");
  auto backward = nn::AttentionBwdOp::create(v.builder, op.getLoc(), op.getQuery(), op.getKey(),
                                             op.getValue(), op.getResult(), op.getLse(), v.cotangent(),
                                             op.getMask(), op.getHidden(), op.getCausal(), op.getScale());
  for (auto [i, cotangent] : llvm::enumerate(backward.getResults()))
    if (v.wants(i))
      v.give(i, cotangent);
  return success();
}

/// Ops that are linear and their own transpose: the cotangent goes through the op itself.
static LogicalResult differentiateSelfDual(Vjp &v) {
  Operation *clone = v.op()->clone();
  clone->setOperand(0, v.cotangent());
  clone->getResult(0).setType(v.cotangentType(v.op()->getOperand(0)));
  v.give(0, v.builder.insert(clone)->getResult(0));
  return success();
}

static LogicalResult differentiateCast(Vjp &v, nn::CastOp op) {
  v.give(0, v.cast(v.cotangent(), cast<RankedTensorType>(op.getInput().getType()).getElementType()));
  return success();
}

LogicalResult differentiateOp(Vjp &v) {
  LogicalResult result =
      TypeSwitch<Operation *, LogicalResult>(v.op())
          .Case([&](nn::ElementwiseOp op) { return differentiateElementwise(v, op); })
          .Case([&](nn::CastOp op) { return differentiateCast(v, op); })
          .Case([&](nn::ContractOp op) { return differentiateContract(v, op); })
          .Case([&](nn::ReduceOp op) { return differentiateReduce(v, op); })
          .Case([&](nn::CumSumOp op) { return differentiateCumSum(v, op); })
          .Case([&](nn::SoftmaxOp op) { return differentiateSoftmax(v, op); })
          .Case([&](nn::LayerNormOp op) { return differentiateLayerNorm(v, op); })
          .Case([&](nn::RmsNormOp op) { return differentiateRmsNorm(v, op); })
          .Case([&](nn::ReshapeOp op) { return differentiateReshape(v, op); })
          .Case([&](nn::TransposeOp op) { return differentiateTranspose(v, op); })
          .Case([&](nn::BroadcastOp op) { return differentiateBroadcast(v, op); })
          .Case([&](nn::SliceOp op) { return differentiateSlice(v, op); })
          .Case([&](nn::PadOp op) { return differentiatePad(v, op); })
          .Case([&](nn::ConcatOp op) { return differentiateConcat(v, op); })
          .Case([&](nn::GatherOp op) { return differentiateGather(v, op); })
          .Case([&](nn::ScatterAddOp op) { return differentiateScatterAdd(v, op); })
          .Case([&](nn::GatherElementsOp op) { return differentiateGatherElements(v, op); })
          .Case([&](nn::ScatterElementsAddOp op) { return differentiateScatterElementsAdd(v, op); })
          .Case([&](nn::AttentionOp op) { return differentiateAttention(v, op); })
          .Case([&](nn::CrossEntropyOp op) { return differentiateCrossEntropy(v, op); })
          .Case<nn::DropoutOp, nn::MaskRowsOp, nn::ShareOp>(
              [&](Operation *) { return differentiateSelfDual(v); })
          .Default([](Operation *) { return failure(); });
  if (failed(result))
    v.op()->emitError() << v.op()->getName()
                        << " on the path from a trained parameter to the loss has no derivative "
                        << "[unsupported-derivative]";
  return result;
}

} // namespace accum
