// SPDX-License-Identifier: Apache-2.0
// Softmax and norms as elementwise ops and reductions.
#include "dialects/NN/Views.h"
#include "passes/Codegen/Expand.h"

using namespace mlir;

namespace accum::codegen {

using nn::ElementwiseFn;
using nn::ReduceKind;

Value Tensors::constant(Value like, double value) {
  Type element = nn::tensorType(like).getElementType();
  auto type = RankedTensorType::get({}, element);
  Attribute number = isa<FloatType>(element)
                         ? Attribute(builder.getFloatAttr(element, value))
                         : Attribute(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return nn::ConstantOp::create(builder, type, DenseElementsAttr::get(type, number));
}

Value Tensors::reshape(Value input, ArrayRef<int64_t> shape) {
  return nn::ReshapeOp::create(builder, RankedTensorType::get(shape, nn::tensorType(input).getElementType()),
                               input);
}

Value Tensors::reduce(ReduceKind kind, Value input, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> kept(nn::tensorType(input).getShape());
  for (int64_t axis : axes)
    kept[axis] = 1;
  return reshape(nn::ReduceOp::create(builder, kind, input, axes), kept);
}

namespace {

/// A row that is -inf throughout gives NaN, as exp(-inf - -inf) does.
struct ExpandSoftmax : OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SoftmaxOp op, PatternRewriter &rewriter) const override {
    Tensors t{{op.getLoc(), rewriter}};
    int64_t axis = op.getAxis();
    Value shifted = t.sub(op.getInput(), t.reduce(ReduceKind::max, op.getInput(), axis));
    Value powers = t.exp(shifted), sum = t.reduce(ReduceKind::sum, powers, axis);
    if (op.getLog())
      rewriter.replaceOp(op, t.sub(shifted, t.apply(ElementwiseFn::log, sum)));
    else
      rewriter.replaceOp(op, t.mul(powers, t.apply(ElementwiseFn::reciprocal, sum)));
    return success();
  }
};

/// The axes from `first` on, and the number of elements on them.
std::pair<SmallVector<int64_t>, double> trailing(RankedTensorType type, int64_t first) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(first, type.getRank()));
  double count = 1;
  for (int64_t axis : axes)
    count *= type.getDimSize(axis);
  return {axes, count};
}

Value inverseRoot(Tensors &t, Value squares, double count, const APFloat &eps) {
  Value mean = t.div(squares, t.constant(squares, count));
  return t.apply(ElementwiseFn::rsqrt, t.add(mean, t.constant(squares, eps.convertToDouble())));
}

struct ExpandLayerNorm : OpRewritePattern<nn::LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::LayerNormOp op, PatternRewriter &rewriter) const override {
    Tensors t{{op.getLoc(), rewriter}};
    Value x = op.getInput();
    auto [axes, count] = trailing(nn::tensorType(x), op.getAxis());
    Value sum = t.reduce(ReduceKind::sum, x, axes);
    Value mean = t.div(sum, t.constant(sum, count)), centred = t.sub(x, mean);
    Value squares = t.reduce(ReduceKind::sum, t.mul(centred, centred), axes);
    Value rstd = inverseRoot(t, squares, count, op.getEps());
    Value result = t.mul(centred, rstd);
    if (op.getScale())
      result = t.mul(result, op.getScale());
    if (op.getBias())
      result = t.add(result, op.getBias());
    rewriter.replaceOp(op, {result, t.reshape(mean, nn::tensorType(op.getMean()).getShape()),
                            t.reshape(rstd, nn::tensorType(op.getRstd()).getShape())});
    return success();
  }
};

struct ExpandRmsNorm : OpRewritePattern<nn::RmsNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::RmsNormOp op, PatternRewriter &rewriter) const override {
    Tensors t{{op.getLoc(), rewriter}};
    Value x = op.getInput();
    auto [axes, count] = trailing(nn::tensorType(x), op.getAxis());
    Value squares = t.reduce(ReduceKind::sum, t.mul(x, x), axes);
    Value rstd = inverseRoot(t, squares, count, op.getEps());
    Value result = t.mul(x, rstd);
    if (op.getScale())
      result = t.mul(result, op.getScale());
    rewriter.replaceOp(op, {result, t.reshape(rstd, nn::tensorType(op.getRstd()).getShape())});
    return success();
  }
};

} // namespace

void addNormExpansions(RewritePatternSet &patterns) {
  patterns.add<ExpandSoftmax, ExpandLayerNorm, ExpandRmsNorm>(patterns.getContext());
}

} // namespace accum::codegen
