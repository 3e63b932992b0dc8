// SPDX-License-Identifier: Apache-2.0
// What exporters write in several ops and one suffices: numbers computed from numbers, reshapes around
// transposes.
#include "dialects/NN/PlacementRules.h"
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <cmath>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// A scalar constant, integers included.
std::optional<double> numberOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !shapeOf(value).empty())
    return std::nullopt;
  if (elements.getElementType().isInteger(1) || !isa<IntegerType>(elements.getElementType()))
    return constantOf(value);
  auto number = elements.getSplatValue<APInt>();
  return elements.getElementType().isUnsignedInteger() ? number.roundToDouble(/*isSigned=*/false)
                                                       : number.roundToDouble(/*isSigned=*/true);
}

std::optional<double> evaluate(ElementwiseFn fn, ArrayRef<double> x) {
  switch (fn) {
  case ElementwiseFn::neg:
    return -x[0];
  case ElementwiseFn::exp:
    return std::exp(x[0]);
  case ElementwiseFn::log:
    return std::log(x[0]);
  case ElementwiseFn::sqrt:
    return std::sqrt(x[0]);
  case ElementwiseFn::rsqrt:
    return 1 / std::sqrt(x[0]);
  case ElementwiseFn::reciprocal:
    return 1 / x[0];
  case ElementwiseFn::add:
    return x[0] + x[1];
  case ElementwiseFn::sub:
    return x[0] - x[1];
  case ElementwiseFn::mul:
    return x[0] * x[1];
  case ElementwiseFn::div:
    return x[0] / x[1];
  case ElementwiseFn::pow:
    return std::pow(x[0], x[1]);
  default:
    return std::nullopt;
  }
}

LogicalResult replaceByNumber(Operation *op, double number, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto value = DenseElementsAttr::get(type, rewriter.getFloatAttr(type.getElementType(), number));
  rewriter.replaceOpWithNewOp<nn::ConstantOp>(op, type, value);
  return success();
}

bool isFloatScalar(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

/// sqrt(1 / sqrt(8)): the scale of attention, as some exporters compute it in the graph.
struct ComputeNumber : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    SmallVector<double> operands;
    for (Value operand : op.getOperands())
      if (std::optional<double> number = isFloatScalar(op.getResult()) ? numberOf(operand) : std::nullopt)
        operands.push_back(*number);
    bool isComplete = !operands.empty() && operands.size() == op.getOperands().size();
    std::optional<double> number = isComplete ? evaluate(op.getFn(), operands) : std::nullopt;
    if (!number)
      return rewriter.notifyMatchFailure(op, "not a function of numbers");
    return replaceByNumber(op, *number, rewriter);
  }
};

struct CastNumber : OpRewritePattern<nn::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::CastOp op, PatternRewriter &rewriter) const override {
    std::optional<double> number = isFloatScalar(op.getResult()) ? numberOf(op.getInput()) : std::nullopt;
    if (!number)
      return rewriter.notifyMatchFailure(op, "not the cast of a number to a float");
    return replaceByNumber(op, *number, rewriter);
  }
};

/// x + 0, as a scatter into zeros is written. A kernel that is handed the zeros cannot know that a sum over
/// the samples may be added to them.
struct DropAddedZero : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::add)
      return failure();
    for (unsigned i = 0; i < 2; ++i) {
      Value other = op.getOperands()[1 - i];
      if (!nn::rule::isZero(op.getOperands()[i]) || other.getType() != op.getType())
        continue;
      rewriter.replaceOp(op, other);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no term is zero everywhere");
  }
};

/// Batch axes of a type after its axes were permuted.
SmallVector<int64_t> permutedBatchAxes(Value value, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> axes;
  for (auto [i, axis] : llvm::enumerate(perm))
    if (llvm::is_contained(batchAxesOf(value), axis))
      axes.push_back(static_cast<int64_t>(i));
  return axes;
}

/// [a, b, m, n] as [a b, m, n], its last axes swapped, and split again: one transpose.
struct TransposeBetweenReshapes : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<nn::TransposeOp>();
    auto merge = transpose ? transpose.getInput().getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
    int64_t merged = merge ? mergedAxes(merge) : 0;
    if (merged < 2 || transpose.getPerm()[0] != 0)
      return rewriter.notifyMatchFailure(op, "no transpose behind a merge of leading axes");
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, merged)), shape, batch;
    for (int64_t axis : transpose.getPerm().drop_front())
      perm.push_back(axis + merged - 1);
    for (int64_t axis : perm)
      shape.push_back(shapeOf(merge.getInput())[axis]);
    if (shapeOf(op.getResult()) != ArrayRef(shape))
      return rewriter.notifyMatchFailure(op, "the axes are split otherwise");
    if (ArrayRef(permutedBatchAxes(merge.getInput(), perm)) != batchAxesOf(op.getResult()))
      return rewriter.notifyMatchFailure(op, "the batch lies along another axis");
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, op.getType(), merge.getInput(), perm);
    return success();
  }
};

/// A reshape that undoes another one, or does nothing.
struct MergeReshapes : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReshapeOp op, PatternRewriter &rewriter) const override {
    Value x = op.getInput();
    if (auto inner = x.getDefiningOp<nn::ReshapeOp>(); inner && x.getType() != op.getType())
      x = inner.getInput();
    if (x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "does not undo a reshape");
    rewriter.replaceOp(op, x);
    return success();
  }
};
} // namespace

void addSimplifications(RewritePatternSet &patterns) {
  patterns.add<ComputeNumber, CastNumber, DropAddedZero, TransposeBetweenReshapes, MergeReshapes>(
      patterns.getContext());
}

} // namespace accum::recognise
