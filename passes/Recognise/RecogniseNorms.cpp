// SPDX-License-Identifier: Apache-2.0
// LayerNorm and RMSNorm from means, and the scales and biases behind them.
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;

/// numerator / sqrt(mean(square of `rows`) + eps), in one of its forms.
struct Normalised {
  Value numerator, rows;
  double eps = 0;
  RowReduction mean;
};

/// v of 1 / sqrt(v); null for anything else.
Value underReciprocalRoot(Value value) {
  if (Value direct = argumentOf(value, ElementwiseFn::rsqrt))
    return direct;
  if (Value root = argumentOf(value, ElementwiseFn::reciprocal))
    return argumentOf(root, ElementwiseFn::sqrt);
  auto quotient = definedBy(value, ElementwiseFn::div);
  if (quotient && constantOf(quotient.getOperands()[0]) == 1.0)
    return argumentOf(quotient.getOperands()[1], ElementwiseFn::sqrt);
  return {};
}

/// The two sides of a quotient by a root, or of a product with a reciprocal root: (numerator, under the
/// root).
std::pair<Value, Value> sidesOf(nn::ElementwiseOp op) {
  if (op.getFn() == ElementwiseFn::div)
    return {op.getOperands()[0], argumentOf(op.getOperands()[1], ElementwiseFn::sqrt)};
  if (op.getFn() != ElementwiseFn::mul)
    return {};
  for (int i = 0; i < 2; ++i)
    if (Value under = underReciprocalRoot(op.getOperands()[i]))
      return {op.getOperands()[1 - i], under};
  return {};
}

std::optional<Normalised> matchNormalised(nn::ElementwiseOp op) {
  Normalised result;
  auto [numerator, under] = sidesOf(op);
  auto shifted = under ? sumWithConstant(under) : std::nullopt;
  auto mean = shifted ? rowMean(shifted->first) : std::nullopt;
  if (!mean || numerator.getType() != op.getType())
    return std::nullopt;
  Product square = productOf(mean->input);
  if (square.factors.size() != 2 || square.factors[0] != square.factors[1] || square.constant != 1)
    return std::nullopt;
  result = {numerator, square.factors[0], shifted->second, *mean};
  return result;
}

/// x of x - mean(x), over the same rows.
Value withoutMean(Value value, int64_t axis) {
  auto difference = definedBy(value, ElementwiseFn::sub);
  if (!difference)
    return {};
  auto mean = rowMean(difference.getOperands()[1]);
  bool isOwn = mean && mean->input == difference.getOperands()[0] && mean->axis == axis;
  return isOwn ? mean->input : Value();
}

struct RecogniseNorm : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    auto found = matchNormalised(op);
    if (!found)
      return rewriter.notifyMatchFailure(op, "not divided by a root of a mean of squares");
    if (found->numerator != found->rows)
      return rewriter.notifyMatchFailure(op, "the squares are of another value");
    IntegerAttr axis = rewriter.getI64IntegerAttr(found->mean.axis);
    FloatAttr eps = rewriter.getF64FloatAttr(found->eps);
    Type statistics = found->mean.statistics;
    Operation *norm;
    if (Value x = withoutMean(found->rows, found->mean.axis))
      norm = nn::LayerNormOp::create(rewriter, op.getLoc(), TypeRange{op.getType(), statistics, statistics},
                                     x, Value(), Value(), axis, eps);
    else
      norm = nn::RmsNormOp::create(rewriter, op.getLoc(), TypeRange{op.getType(), statistics}, found->rows,
                                   Value(), axis, eps);
    rewriter.replaceOp(op, norm->getResult(0));
    return success();
  }
};

/// `value` as a tensor of the normalised axes: the same for all rows, up to leading extents of 1. Null
/// otherwise.
Value perElementOfRow(PatternRewriter &rewriter, Value value, Value normalised, int64_t axis) {
  ArrayRef<int64_t> row = shapeOf(normalised).drop_front(axis), shape = shapeOf(value);
  if (isBatchedFrom(value, 0) || shape.size() < row.size() || shape.take_back(row.size()) != row ||
      !llvm::all_of(shape.drop_back(row.size()), [](int64_t extent) { return extent == 1; }))
    return {};
  if (shape.size() == row.size())
    return value;
  auto type = RankedTensorType::get(row, cast<RankedTensorType>(value.getType()).getElementType());
  return nn::ReshapeOp::create(rewriter, value.getLoc(), type, value);
}

/// The operand of `op` that is a norm read by nothing else, and the other one.
template <class Norm> std::pair<Norm, Value> normAndOther(nn::ElementwiseOp op) {
  for (unsigned i = 0; i < 2; ++i) {
    auto norm = op.getOperands()[i].template getDefiningOp<Norm>();
    bool isResult = norm && op.getOperands()[i] == norm.getResult();
    if (isResult && norm.getResult().hasOneUse() && norm.getResult().getType() == op.getType())
      return {norm, op.getOperands()[1 - i]};
  }
  return {};
}

template <class Norm> struct AbsorbScale : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern<nn::ElementwiseOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::mul)
      return failure();
    auto [norm, scale] = normAndOther<Norm>(op);
    if (!norm || norm.getScale() || hasBias(norm))
      return rewriter.notifyMatchFailure(op, "no norm without a scale");
    Value row = perElementOfRow(rewriter, scale, norm.getInput(), static_cast<int64_t>(norm.getAxis()));
    if (!row)
      return rewriter.notifyMatchFailure(op, "the factor is not one row");
    Norm scaled = withScale(rewriter, op.getLoc(), norm, row);
    rewriter.replaceOp(op, scaled.getResult());
    return success();
  }

private:
  static bool hasBias(nn::RmsNormOp) { return false; }
  static bool hasBias(nn::LayerNormOp norm) { return static_cast<bool>(norm.getBias()); }
  static nn::RmsNormOp withScale(PatternRewriter &rewriter, Location location, nn::RmsNormOp norm,
                                 Value scale) {
    return nn::RmsNormOp::create(rewriter, location, norm->getResultTypes(), norm.getInput(), scale,
                                 norm.getAxisAttr(), norm.getEpsAttr());
  }
  static nn::LayerNormOp withScale(PatternRewriter &rewriter, Location location, nn::LayerNormOp norm,
                                   Value scale) {
    return nn::LayerNormOp::create(rewriter, location, norm->getResultTypes(), norm.getInput(), scale,
                                   Value(), norm.getAxisAttr(), norm.getEpsAttr());
  }
};

struct AbsorbBias : OpRewritePattern<nn::ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op.getFn() != ElementwiseFn::add)
      return failure();
    auto [norm, bias] = normAndOther<nn::LayerNormOp>(op);
    if (!norm || norm.getBias())
      return rewriter.notifyMatchFailure(op, "no layer norm without a bias");
    Value row = perElementOfRow(rewriter, bias, norm.getInput(), static_cast<int64_t>(norm.getAxis()));
    if (!row)
      return rewriter.notifyMatchFailure(op, "the term is not one row");
    auto shifted = nn::LayerNormOp::create(rewriter, op.getLoc(), norm->getResultTypes(), norm.getInput(),
                                           norm.getScale(), row, norm.getAxisAttr(), norm.getEpsAttr());
    rewriter.replaceOp(op, shifted.getResult());
    return success();
  }
};
} // namespace

void addNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseNorm, AbsorbScale<nn::LayerNormOp>, AbsorbScale<nn::RmsNormOp>, AbsorbBias>(
      patterns.getContext());
}

} // namespace accum::recognise
