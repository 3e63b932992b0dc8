// SPDX-License-Identifier: Apache-2.0
// The angle of a point, which exporters write as the arctangent of a quotient, turned by half a turn where x
// < 0.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"
#include <numbers>

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// Whether `value` is `angle` plus or minus pi.
bool isTurned(Value value, Value angle, ElementwiseFn fn) {
  auto op = definedBy(value, fn);
  std::optional<double> turn = op ? constantOf(op.getOperands()[1]) : std::nullopt;
  return turn && op.getOperands()[0] == angle && isNear(*turn, std::numbers::pi);
}

DenseElementsAttr elementsOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
}

/// Whether `condition` is x compared with zero, which is a constant where x is one.
bool comparesWithZero(Value condition, ElementwiseFn fn, Value x) {
  if (auto op = definedBy(condition, fn))
    return op.getOperands()[0] == x && constantOf(op.getOperands()[1]) == 0.0;
  DenseElementsAttr flags = elementsOf(condition), numbers = elementsOf(x);
  if (!flags || !numbers || flags.getType().getShape() != numbers.getType().getShape() ||
      !isa<FloatType>(numbers.getElementType()))
    return false;
  return llvm::all_of_zip(
      flags.getValues<bool>(), numbers.getValues<APFloat>(), [&](bool flag, const APFloat &number) {
        bool isNegative = number.isNegative() && !number.isZero();
        return flag == (fn == ElementwiseFn::lt ? isNegative : !isNegative && !number.isZero());
      });
}

/// x < 0 ? (y > 0 ? a + pi : a - pi) : a with a = atan(y / x): NaN at the origin, and so is its derivative on
/// the axis x = 0, where PyTorch has both.
struct RecogniseAngle : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto turned = op.getFn() == ElementwiseFn::select ? definedBy(op.getOperands()[1], ElementwiseFn::select)
                                                      : nn::ElementwiseOp();
    Value angle = turned ? op.getOperands()[2] : Value();
    auto ratio = definedBy(argumentOf(angle, ElementwiseFn::atan), ElementwiseFn::div);
    if (!ratio || !comparesWithZero(op.getOperands()[0], ElementwiseFn::lt, ratio.getOperands()[1]) ||
        !comparesWithZero(turned.getOperands()[0], ElementwiseFn::gt, ratio.getOperands()[0]) ||
        !isTurned(turned.getOperands()[1], angle, ElementwiseFn::add) ||
        !isTurned(turned.getOperands()[2], angle, ElementwiseFn::sub))
      return rewriter.notifyMatchFailure(op, "not an arctangent turned into its quadrant");
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), ElementwiseFn::atan2,
                                                   ratio.getOperands());
    return success();
  }
};

/// The guard against its NaN at the origin, which there is none of.
struct RemoveAngleGuard : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    bool isGuard = op.getFn() == ElementwiseFn::select &&
                   definedBy(op.getOperands()[2], ElementwiseFn::atan2) &&
                   argumentOf(op.getOperands()[0], ElementwiseFn::is_nan) == op.getOperands()[2] &&
                   constantOf(op.getOperands()[1]) == 0.0;
    if (!isGuard || op.getOperands()[2].getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the guard of an angle");
    rewriter.replaceOp(op, op.getOperands()[2]);
    return success();
  }
};
} // namespace

void addAnglePatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseAngle, RemoveAngleGuard>(patterns.getContext());
}

} // namespace accum::recognise
