// SPDX-License-Identifier: Apache-2.0
// Batched products on [batch * heads, ...], as some models write attention, on [batch, heads, ...]: there it
// can be recognised, and masks of one head broadcast.
#include "dialects/NN/Views.h"
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
namespace {

bool isAtMostFirst(ArrayRef<int64_t> batch) { return batch.empty() || batch == ArrayRef<int64_t>{0}; }

/// `merge` joins two axes, and the batch, if there is one, is the first axis on both sides.
bool joinsTwo(nn::ReshapeOp merge) {
  if (!merge || mergedAxes(merge) != 2 ||
      nn::tensorType(merge.getInput()).getEncoding() != nn::tensorType(merge).getEncoding())
    return false;
  return isAtMostFirst(batchAxesOf(merge));
}

/// An operand of a product before two of its axes were joined: x of reshape(x), or of transpose(reshape(x)).
struct Split {
  Value whole;               ///< null: it was not joined
  SmallVector<int64_t> perm; ///< behind the joined axes; empty without a transpose
};

Split splitOf(Value operand) {
  auto transpose = operand.getDefiningOp<nn::TransposeOp>();
  auto merge = (transpose ? transpose.getInput() : operand).getDefiningOp<nn::ReshapeOp>();
  if (!joinsTwo(merge) || (transpose && transpose.getPerm()[0] != 0))
    return {};
  Split split{merge.getInput(), {}};
  if (transpose) {
    split.perm = {0, 1};
    for (int64_t axis : transpose.getPerm().drop_front())
      split.perm.push_back(axis + 1);
  }
  return split;
}

Value transposed(PatternRewriter &rewriter, const Split &split) {
  if (split.perm.empty())
    return split.whole;
  SmallVector<int64_t> shape;
  for (int64_t axis : split.perm)
    shape.push_back(shapeOf(split.whole)[axis]);
  RankedTensorType from = nn::tensorType(split.whole);
  return nn::TransposeOp::create(rewriter, split.whole.getLoc(), from.clone(shape), split.whole, split.perm);
}

/// A product whose joined axes are the first one of both operands and of its result.
struct SplitProduct : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    StringRef l = op.lhsLetters(), r = op.rhsLetters(), result = op.resultLetters();
    if (l.empty() || r.empty() || result.empty() || l[0] != r[0] || l[0] != result[0])
      return rewriter.notifyMatchFailure(op, "no first axis in common");
    Split lhs = splitOf(op.getLhs()), rhs = splitOf(op.getRhs());
    if (!lhs.whole || !rhs.whole || shapeOf(lhs.whole).take_front(2) != shapeOf(rhs.whole).take_front(2))
      return rewriter.notifyMatchFailure(op, "operands that are not joined alike");
    char fresh = 'a';
    while (op.getSpec().contains(fresh))
      ++fresh;
    auto with = [&](StringRef letters) {
      return std::string{letters[0], fresh} + letters.drop_front().str();
    };
    std::string spec = with(l) + "," + with(r) + "->" + with(result);
    SmallVector<int64_t> shape(shapeOf(lhs.whole).take_front(2));
    llvm::append_range(shape, shapeOf(op).drop_front());
    Type type =
        RankedTensorType::get(shape, nn::tensorType(op).getElementType(), nn::tensorType(op).getEncoding());
    Value product = nn::ContractOp::create(rewriter, op.getLoc(), type, transposed(rewriter, lhs),
                                           transposed(rewriter, rhs), rewriter.getStringAttr(spec));
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op.getType(), product);
    return success();
  }
};

/// Whether `value`, or an operand of the elementwise ops that it alone is the result of, was joined from
/// `shape`.
bool isJoinedFrom(Value value, ArrayRef<int64_t> shape, int depth = 0) {
  constexpr int maxDepth = 4;
  if (auto merge = value.getDefiningOp<nn::ReshapeOp>())
    return joinsTwo(merge) && shapeOf(merge.getInput()) == shape;
  auto op = value.getDefiningOp<nn::ElementwiseOp>();
  if (!op || !op->hasOneUse() || depth == maxDepth)
    return false;
  return llvm::any_of(op.getOperands(),
                      [&](Value operand) { return isJoinedFrom(operand, shape, depth + 1); });
}

/// Whether an operand goes along with `joined`, whose first axis was joined: it has that axis, or an extent
/// of 1 there and no batch elsewhere. A fixed extent beside the batch is neither.
bool followsJoined(Value operand, Value joined) {
  ArrayRef<int64_t> from = shapeOf(operand), to = shapeOf(joined);
  bool isWhole = from.size() == to.size() && from[0] == to[0] && batchAxesOf(operand) == batchAxesOf(joined);
  return isWhole || (batchAxesOf(operand).empty() && (from.size() < to.size() || from[0] == 1));
}

/// An operand that follows joined axes, with those axes apart.
Value apart(PatternRewriter &rewriter, Value operand, Value joined, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = shapeOf(operand);
  if (from.size() < shapeOf(joined).size())
    return operand;
  SmallVector<int64_t> to(from);
  bool isWhole = from[0] == shapeOf(joined)[0] && batchAxesOf(operand) == batchAxesOf(joined);
  to[0] = isWhole ? shape[0] : 1;
  to.insert(to.begin() + 1, isWhole ? shape[1] : 1);
  return nn::ReshapeOp::create(rewriter, operand.getLoc(), nn::tensorType(operand).clone(to), operand);
}

/// split(f(join(x), y)) is f(x, split(y)).
struct SplitElementwise : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<nn::ElementwiseOp>();
    ArrayRef<int64_t> to = shapeOf(op);
    if (!inner || !inner->hasOneUse() || to.size() != shapeOf(inner).size() + 1 ||
        !isAtMostFirst(batchAxesOf(inner)) || batchAxesOf(op) != batchAxesOf(inner) ||
        !isJoinedFrom(inner, to) ||
        !llvm::all_of(inner.getOperands(), [&](Value each) { return followsJoined(each, inner); }))
      return rewriter.notifyMatchFailure(op, "splits nothing that was joined");
    SmallVector<Value> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(apart(rewriter, operand, inner, to));
    rewriter.replaceOpWithNewOp<nn::ElementwiseOp>(op, op.getType(), inner.getFn(), operands);
    return success();
  }
};

/// softmax(join(x)) is join(softmax(x)).
struct SplitSoftmax : OpRewritePattern<nn::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SoftmaxOp op, PatternRewriter &rewriter) const override {
    auto merge = op.getInput().getDefiningOp<nn::ReshapeOp>();
    if (!joinsTwo(merge) || op.getAxis() == 0)
      return rewriter.notifyMatchFailure(op, "not over rows of joined axes");
    Value x = merge.getInput();
    auto softmax =
        nn::SoftmaxOp::create(rewriter, op.getLoc(), x.getType(), x, op.getAxis() + 1, op.getLog());
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op.getType(), softmax);
    return success();
  }
};
} // namespace

void addSplitMergedPatterns(RewritePatternSet &patterns) {
  patterns.add<SplitProduct, SplitElementwise, SplitSoftmax>(patterns.getContext());
}

} // namespace accum::recognise
