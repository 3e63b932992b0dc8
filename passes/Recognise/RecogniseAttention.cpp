// SPDX-License-Identifier: Apache-2.0
// Attention from a product of queries and keys, a softmax, and a product with the values.
#include "dialects/NN/Views.h"
#include "passes/Recognise/AttentionLetters.h"
#include "passes/Recognise/AttentionMask.h"
#include "passes/Recognise/Recognisers.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
namespace {
using nn::ElementwiseFn;
using nn::HiddenScore;

/// What a softmax is taken of: scale * q k^T, a float mask, hidden keys.
struct Scores {
  nn::ContractOp product;
  double scale = 1;
  Value added;
  SmallVector<Value>
      terms; ///< float values that hide by being added: what `visible` says, where it holds no more
  Visibility visible;
  std::optional<HiddenScore> hidden; ///< absent: nothing is hidden
  bool isCausal = false;             ///< taken out of `visible`
  bool isSelected = false;           ///< some keys are hidden by a select: `terms` are not all that hides

  /// Hides what `more` does not show; false where both kinds of hiding do not go together.
  bool hide(const Visibility &more, HiddenScore kind) {
    if (hidden && (*hidden != kind || kind == HiddenScore::replaced))
      return false;
    hidden = kind;
    visible.all.append(more.all);
    visible.notAll.append(more.notAll);
    return true;
  }
};

/// The operand that the product of queries and keys is in: the one that leads to a contraction of this type.
std::optional<unsigned> scoresOperand(nn::ElementwiseOp op, ArrayRef<unsigned> candidates, int depth = 0) {
  constexpr int maxDepth = 6;
  for (unsigned i : candidates) {
    Value value = op.getOperands()[i];
    if (value.getType() != op.getType())
      continue;
    if (value.getDefiningOp<nn::ContractOp>())
      return i;
    auto inner = value.getDefiningOp<nn::ElementwiseOp>();
    if (!inner || depth == maxDepth)
      continue;
    SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, inner.getOperands().size()));
    if (scoresOperand(inner, all, depth + 1))
      return i;
  }
  return std::nullopt;
}

/// Reads expressions from the softmax inward.
class ScoresReader {
public:
  std::optional<Scores> read(Value value) {
    while (!value.getDefiningOp<nn::ContractOp>()) {
      auto op = value.getDefiningOp<nn::ElementwiseOp>();
      Value inner = op ? step(op) : Value();
      if (!inner)
        return std::nullopt;
      value = inner;
    }
    scores.product = value.getDefiningOp<nn::ContractOp>();
    return scores;
  }

private:
  Value step(nn::ElementwiseOp op) {
    if (op.getFn() == ElementwiseFn::add)
      return stepAdd(op);
    if (op.getFn() == ElementwiseFn::select)
      return stepSelect(op);
    Product product = productOf(op.getResult());
    if (product.factors.size() != 1 || product.factors[0] == op.getResult() ||
        product.factors[0].getType() != op.getType())
      return {};
    scores.scale *= product.constant;
    isScaled = true;
    return product.factors[0];
  }

  Value stepAdd(nn::ElementwiseOp op) {
    auto inner = scoresOperand(op, {0, 1});
    // A replaced score would lose what is added to it.
    if (!inner || scores.hidden == HiddenScore::replaced)
      return {};
    Value mask = op.getOperands()[1 - *inner];
    auto term = hidingTermOf(mask);
    // A scale outside scales the mask too; what hides still does.
    if (isScaled && !(term && scores.scale > leastScale))
      return {};
    bool isHiding = term && scores.hide(term->visible, std::isinf(term->hidden) ? HiddenScore::infinite
                                                                                : HiddenScore::lowered);
    if (!isHiding && scores.added)
      return {};
    if (isHiding)
      scores.terms.push_back(mask);
    else
      scores.added = mask;
    return op.getOperands()[*inner];
  }

  Value stepSelect(nn::ElementwiseOp op) {
    auto inner = scoresOperand(op, {1, 2});
    std::optional<double> number = inner ? constantOf(op.getOperands()[3 - *inner]) : std::nullopt;
    if (!number || !hides(*number) || isScaled)
      return {};
    scores.isSelected = true;
    Visibility visible;
    visible.require(op.getOperands()[0], /*negated=*/*inner == 2);
    if (!scores.hide(visible, std::isinf(*number) ? HiddenScore::infinite : HiddenScore::replaced))
      return {};
    return op.getOperands()[*inner];
  }

  static constexpr double leastScale = 1e-6; ///< 1e-6 times the lowest float still hides
  Scores scores;
  bool isScaled = false;
};

/// The softmax of `value`, and what it is taken of. `isGuarded`: rows whose scores are all -inf give zeros,
/// written so that no NaN arises.
struct Probabilities {
  Value scores;
  bool isGuarded = false;
};

std::optional<Probabilities> probabilitiesOf(Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  auto safe = safeSoftmax(value);
  auto softmax = safe ? safe->softmax : value.getDefiningOp<nn::SoftmaxOp>();
  if (!softmax || softmax.getLog() || !softmax.getResult().hasOneUse() ||
      softmax.getAxis() + 1 != shapeOf(value).size())
    return std::nullopt;
  return safe ? Probabilities{safe->scores, /*isGuarded=*/true} : Probabilities{softmax.getInput()};
}

ArrayRef<int64_t> batchOf(Value value) {
  auto extent = dyn_cast_or_null<nn::ExtentAttr>(nn::tensorType(value).getEncoding());
  return extent ? extent.getDims() : ArrayRef<int64_t>();
}

RankedTensorType withBatch(Value like, ArrayRef<int64_t> shape, ArrayRef<int64_t> batch) {
  Attribute encoding = batch.empty() ? Attribute() : nn::ExtentAttr::get(like.getContext(), batch);
  return RankedTensorType::get(shape, nn::tensorType(like).getElementType(), encoding);
}

/// `value`, whose axes are called `from`, with its axes in the order `to`. Undoes a transpose where it can.
Value inOrder(PatternRewriter &rewriter, Value value, StringRef from, StringRef to) {
  SmallVector<int64_t> perm;
  for (char letter : to)
    perm.push_back(static_cast<int64_t>(from.find(letter)));
  if (auto inner = value.getDefiningOp<nn::TransposeOp>()) {
    for (int64_t &axis : perm)
      axis = inner.getPerm()[axis];
    value = inner.getInput();
  }
  if (llvm::is_sorted(perm))
    return value;
  SmallVector<int64_t> shape, batch;
  for (auto [i, axis] : llvm::enumerate(perm)) {
    shape.push_back(shapeOf(value)[axis]);
    if (llvm::is_contained(batchOf(value), axis))
      batch.push_back(static_cast<int64_t>(i));
  }
  return nn::TransposeOp::create(rewriter, value.getLoc(), withBatch(value, shape, batch), value, perm);
}

/// With `count` axes of extent 1 before axis `axis`.
Value withOnes(PatternRewriter &rewriter, Value value, int64_t axis, int64_t count) {
  if (count == 0)
    return value;
  SmallVector<int64_t> shape(shapeOf(value)), batch(batchOf(value));
  shape.insert(shape.begin() + axis, count, 1);
  for (int64_t &dim : batch)
    dim += dim >= axis ? count : 0;
  return nn::ReshapeOp::create(rewriter, value.getLoc(), withBatch(value, shape, batch), value);
}

/// x of constant * x, which has x's type; the constant goes to `scale`.
Value withoutScale(Value value, double &scale) {
  Product product = productOf(value);
  if (product.factors.size() != 1 || product.factors[0].getType() != value.getType())
    return value;
  scale *= product.constant;
  return product.factors[0];
}

struct RecogniseAttention : OpRewritePattern<nn::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ContractOp op, PatternRewriter &rewriter) const override {
    for (unsigned operand : {0, 1}) {
      auto probabilities = probabilitiesOf(op->getOperand(operand));
      if (!probabilities)
        continue;
      auto scores = ScoresReader().read(probabilities->scores);
      if (!scores)
        return rewriter.notifyMatchFailure(op, "scores are not a scaled and masked product");
      auto letters = lettersOf(scores->product, op, operand);
      if (!letters || !isa<FloatType>(nn::tensorType(op).getElementType()))
        return rewriter.notifyMatchFailure(op, "products that are no attention");
      return rewrite(op, *scores, probabilities->isGuarded, *letters, rewriter);
    }
    return failure();
  }

private:
  static LogicalResult rewrite(nn::ContractOp op, Scores &scores, bool isGuarded, const Letters &letters,
                               PatternRewriter &rewriter);
};

bool dependsOnTrained(const Scores &scores) {
  if (scores.added && recognise::dependsOnTrained(scores.added))
    return true;
  return llvm::any_of(scores.visible.all, [](const Condition &condition) {
    return recognise::dependsOnTrained(condition.value);
  });
}

/// Settles what hidden keys mean; false where no attention has these meanings together.
bool settleMasks(Scores &scores, bool isGuarded, PatternRewriter &rewriter) {
  if (!scores.visible.resolve() || dependsOnTrained(scores))
    return false;
  if (scores.added && !scores.terms.empty() && !scores.isSelected && !isGuarded) {
    // One operand holds all that is added: hidden keys as well as, say, a slope over distances.
    for (Value term : scores.terms)
      scores.added = sumOf(rewriter, scores.added, term);
    scores.visible = {};
    scores.hidden = HiddenScore::infinite; // the numbers say it
  }
  scores.isCausal = scores.visible.takeCausal();
  if (scores.added && !scores.visible.all.empty())
    return false; // there is one operand for both
  if (!scores.hidden)
    scores.hidden = HiddenScore::infinite;
  if (isGuarded && scores.hidden == HiddenScore::infinite)
    scores.hidden = HiddenScore::excluded;
  else if (isGuarded && scores.added)
    return false; // which rows are dead depends on both
  return true;
}

/// Whether the batch, if there is one, is the first axis of `wanted`.
bool isBatchFirst(Value value, StringRef letters, StringRef wanted) {
  ArrayRef<int64_t> batch = batchOf(value);
  return batch.empty() || (batch.size() == 1 && letters[batch[0]] == wanted[0]);
}

LogicalResult RecogniseAttention::rewrite(nn::ContractOp op, Scores &scores, bool isGuarded,
                                          const Letters &letters, PatternRewriter &rewriter) {
  Value query = scores.product->getOperand(letters.queryOperand);
  Value key = scores.product->getOperand(1 - letters.queryOperand);
  Value value = op->getOperand(letters.valueOperand);
  bool isAlike =
      batchOf(query).size() == batchOf(key).size() && batchOf(query).size() == batchOf(value).size();
  if (!isAlike || !isBatchFirst(query, letters.query, letters.wantedQuery) ||
      !isBatchFirst(key, letters.key, letters.wantedKey) ||
      !isBatchFirst(value, letters.value, letters.wantedValue))
    return rewriter.notifyMatchFailure(op, "queries, keys and values are not batched along the first axis");
  if (scores.added && cast<RankedTensorType>(scores.added.getType()).getElementTypeBitWidth() == 16)
    return rewriter.notifyMatchFailure(op, "a mask of 16 bits, where attention adds in 32");
  if (!settleMasks(scores, isGuarded, rewriter))
    return rewriter.notifyMatchFailure(op, "a mask that attention cannot have");
  query = inOrder(rewriter, withoutScale(query, scores.scale), letters.query, letters.wantedQuery);
  key = inOrder(rewriter, withoutScale(key, scores.scale), letters.key, letters.wantedKey);
  value = inOrder(rewriter, value, letters.value, letters.wantedValue);
  auto missing = static_cast<int64_t>(4 - letters.wantedQuery.size());
  query = withOnes(rewriter, query, 1, missing);
  key = withOnes(rewriter, key, 1, 4 - static_cast<int64_t>(letters.wantedKey.size()));
  value = withOnes(rewriter, value, 1, 4 - static_cast<int64_t>(letters.wantedValue.size()));
  Value mask = scores.added ? scores.added : scores.visible.build(rewriter, op.getLoc());
  if (mask) {
    auto rank = static_cast<int64_t>(shapeOf(mask).size());
    bool isLeading = missing == 1 && rank == 3; // [b, q, k]: the head is absent between
    mask = withOnes(rewriter, mask, isLeading ? 1 : 0, 4 - rank);
  }
  SmallVector<int64_t> shape(shapeOf(query));
  auto statistics = withBatch(query, ArrayRef(shape).drop_back(), batchOf(query));
  if (!statistics.getElementType().isF64())
    statistics = statistics.clone(rewriter.getF32Type());
  shape.back() = shapeOf(value).back();
  Type output = withBatch(query, shape, batchOf(query));
  Value result = nn::AttentionOp::create(rewriter, op.getLoc(), TypeRange{output, statistics}, query, key,
                                         value, mask, *scores.hidden, scores.isCausal, APFloat(scores.scale))
                     .getResult();
  if (missing == 1) {
    shape.erase(shape.begin() + 1);
    result = nn::ReshapeOp::create(rewriter, op.getLoc(), withBatch(result, shape, batchOf(result)), result);
  }
  rewriter.replaceOp(op, inOrder(rewriter, result, letters.wantedResult, letters.result));
  return success();
}
} // namespace

void addAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<RecogniseAttention>(patterns.getContext());
  addAttentionOperandPatterns(patterns);
}

} // namespace accum::recognise
