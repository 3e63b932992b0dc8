// SPDX-License-Identifier: Apache-2.0
// Attention as products, rows and products again, for targets whose runtime has no attention of its own.
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/AttentionShape.h"
#include "passes/Fuse/Passes.h"
#include <limits>

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "passes/Fuse/Passes.h.inc"

namespace {

using nn::ElementwiseFn;
using nn::HiddenScore;
using nn::ReduceKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLowest = std::numeric_limits<float>::lowest();

/// One attention, or one derivative, in primitive ops before it. Values have the axes b, heads, rows,
/// features; grouped heads are two axes, groups and heads of a group, so that keys and values need no copies.
class Decomposition {
public:
  template <typename Op>
  Decomposition(nn::PlacedBuilder &builder, Op op)
      : builder(builder), loc(op.getLoc()), hidden(op.getHidden()), causal(op.getCausal()),
        scale(op.getScale().convertToDouble()), groups(nn::tensorType(op.getKey()).getDimSize(1)),
        repeats(nn::tensorType(op.getQuery()).getDimSize(1) / groups),
        element(nn::tensorType(op.getQuery()).getElementType()),
        wide(nn::tensorType(op.getLse()).getElementType()) {
    builder.setInsertionPoint(op);
    query = splitHeads(op.getQuery());
    key = op.getKey();
    value = op.getValue();
    if (Value given = op.getMask())
      (nn::tensorType(given).getElementType().isInteger(1) ? shown : added) = splitHeads(given);
  }

  void forward(nn::AttentionOp op);
  void backward(nn::AttentionBwdOp op);

private:
  // --- single ops ---

  Value apply(ElementwiseFn fn, ValueRange operands) {
    return nn::ElementwiseOp::create(builder, loc, fn, operands);
  }
  Value sub(Value a, Value b) { return apply(ElementwiseFn::sub, {a, b}); }
  Value mul(Value a, Value b) { return apply(ElementwiseFn::mul, {a, b}); }
  Value select(Value condition, Value yes, Value no) {
    return apply(ElementwiseFn::select, {condition, yes, no});
  }
  Value constant(double number) {
    auto type = RankedTensorType::get({}, wide);
    auto content = DenseElementsAttr::get(type, builder.getFloatAttr(wide, number));
    return nn::ConstantOp::create(builder, loc, type, content);
  }
  Value cast(Value from, Type to) {
    return nn::tensorType(from).getElementType() == to
               ? from
               : nn::CastOp::create(builder, loc, from, to).getResult();
  }
  /// The batch, where there is one, stays axis 0.
  Value reshape(Value from, ArrayRef<int64_t> shape) {
    auto type = nn::withEncoding(RankedTensorType::get(shape, nn::tensorType(from).getElementType()),
                                 nn::tensorType(from).getEncoding());
    return from.getType() == type ? from : nn::ReshapeOp::create(builder, loc, type, from).getResult();
  }
  /// One number for each row, as a column.
  Value column(Value rows) {
    SmallVector<int64_t> shape(nn::tensorType(rows).getShape());
    shape.push_back(1);
    return reshape(rows, shape);
  }
  Value reduce(ReduceKind kind, Value rows) {
    return nn::ReduceOp::create(builder, loc, kind, rows, ArrayRef{nn::tensorType(rows).getRank() - 1});
  }
  Value contract(StringRef spec, Value lhs, Value rhs) {
    return nn::ContractOp::create(builder, loc, letters(spec), lhs, rhs);
  }
  bool isGrouped() const { return repeats > 1; }
  /// `h` of queries is g and r, that of keys g alone, where heads are grouped.
  std::string letters(StringRef spec) const {
    std::string result;
    for (char letter : spec)
      if (letter == 'H')
        result += isGrouped() ? "gr" : "h";
      else
        result += letter == 'h' && isGrouped() ? 'g' : letter;
    return result;
  }

  Value splitHeads(Value heads);
  void replaceHeads(OpResult result, StringRef order, function_ref<Value(StringRef)> make);

  // --- parts ---

  Value visible(RankedTensorType scores);
  Value scores();
  Value weights(Value scores, Value *lse);
  bool mayHideRows() const { return static_cast<bool>(shown); }
  bool lseSuffices() const;
  Value weightsByLse(Value scores, Value lse);

  nn::PlacedBuilder &builder;
  Location loc;
  HiddenScore hidden;
  bool causal;
  double scale;
  int64_t groups, repeats;
  Type element; ///< of queries, keys, values
  Type wide;    ///< what rows are computed in
  Value query, key, value;
  Value shown; ///< i1 mask
  Value added; ///< float mask
};

/// [b, heads, ...] as [b, groups, heads of a group, ...]; behind a transpose where the heads come from one,
/// for a product reads through a transpose, but not through a view of one.
Value Decomposition::splitHeads(Value heads) {
  if (!isGrouped())
    return heads;
  auto transpose = heads.getDefiningOp<nn::TransposeOp>();
  Value source = transpose ? transpose.getInput() : heads;
  int64_t axis = transpose ? transpose.getPerm()[1] : 1;
  SmallVector<int64_t> shape(nn::tensorType(source).getShape());
  bool isOne = shape[axis] == 1;
  shape[axis] = isOne ? 1 : groups;
  shape.insert(shape.begin() + axis + 1, isOne ? 1 : repeats);
  nn::Placement placement = nn::Placement::of(source.getType());
  if (placement.isBatched() && placement.dim > axis)
    ++placement.dim;
  Value split = nn::ReshapeOp::create(
      builder, loc, placement.place(RankedTensorType::get(shape, nn::tensorType(source).getElementType())),
      source);
  if (!transpose)
    return split;
  SmallVector<int64_t> perm;
  for (int64_t from : transpose.getPerm()) {
    perm.push_back(from > axis ? from + 1 : from);
    if (from == axis)
      perm.push_back(axis + 1);
  }
  return nn::TransposeOp::create(builder, loc, split, perm);
}

/// Gives a result [b, heads, rows, features] what `make` makes in the order of letters that it is told. Where
/// its only reader wants rows before heads, that is asked for, so that no copy is left.
void Decomposition::replaceHeads(OpResult result, StringRef order, function_ref<Value(StringRef)> make) {
  if (result.use_empty())
    return;
  constexpr int64_t rowsFirst[] = {0, 2, 1, 3};
  auto reader = dyn_cast<nn::TransposeOp>(*result.getUsers().begin());
  bool turned = isGrouped() && reader && result.hasOneUse() && reader.getPerm() == ArrayRef(rowsFirst);
  std::string wanted = order.str();
  if (turned)
    std::swap(wanted[1], wanted[2]);
  Value target = turned ? reader.getResult() : Value(result);
  target.replaceAllUsesWith(reshape(make(wanted), nn::tensorType(target).getShape()));
  if (turned)
    reader.erase();
}

/// Which keys a query sees; null: all.
Value Decomposition::visible(RankedTensorType scores) {
  if (!causal)
    return shown;
  auto places =
      nn::withEncoding(RankedTensorType::get(scores.getShape(), builder.getI64Type()), scores.getEncoding());
  auto rank = static_cast<uint64_t>(scores.getRank());
  Value keys = nn::IotaOp::create(builder, loc, places, rank - 1);
  Value queries = nn::IotaOp::create(builder, loc, places, rank - 2);
  Value past = apply(ElementwiseFn::le, {keys, queries});
  return shown ? apply(ElementwiseFn::logical_and, {past, shown}) : past;
}

/// What the softmax is taken of.
Value Decomposition::scores() {
  Value scores = cast(contract("bHqd,bhkd->bHqk", query, key), wide);
  scores = mul(scores, constant(scale));
  Value seen = visible(nn::tensorType(scores));
  if (seen && hidden == HiddenScore::replaced)
    scores = select(seen, scores, constant(kLowest));
  if (added)
    scores = apply(ElementwiseFn::add, {scores, cast(added, wide)});
  if (!seen || hidden == HiddenScore::replaced)
    return scores;
  if (hidden == HiddenScore::lowered)
    return select(seen, scores, apply(ElementwiseFn::add, {scores, constant(kLowest)}));
  return select(seen, scores, constant(-kInfinity));
}

/// Softmax of the rows. Rows of -inf throughout give zeros where hidden keys are excluded, else NaN.
Value Decomposition::weights(Value scores, Value *lse) {
  Value top = reduce(ReduceKind::max, scores);
  if (hidden == HiddenScore::excluded)
    top = select(apply(ElementwiseFn::eq, {top, constant(-kInfinity)}), constant(0), top);
  Value powers = apply(ElementwiseFn::exp, {sub(scores, column(top))});
  powers.getDefiningOp()->setAttr("accum.part", builder.getStringAttr("attention_weights"));
  Value sum = reduce(ReduceKind::sum, powers), divisor = sum;
  if (lse)
    *lse = apply(ElementwiseFn::add, {top, apply(ElementwiseFn::log, {sum})});
  if (hidden == HiddenScore::excluded)
    divisor = select(apply(ElementwiseFn::eq, {sum, constant(0)}), constant(1), sum);
  return mul(powers, column(apply(ElementwiseFn::reciprocal, {divisor})));
}

/// exp(score - lse) is a weight unless all scores of a row may be the lowest number, which swallows the
/// logarithm of how many there are.
bool Decomposition::lseSuffices() const {
  bool isInfinite = hidden == HiddenScore::excluded || hidden == HiddenScore::infinite;
  return !added && (!mayHideRows() || isInfinite);
}

Value Decomposition::weightsByLse(Value scores, Value lse) {
  if (isGrouped()) {
    SmallVector<int64_t> shape(nn::tensorType(scores).getShape());
    shape.pop_back();
    lse = reshape(lse, shape);
  }
  if (mayHideRows() && hidden == HiddenScore::excluded)
    lse = select(apply(ElementwiseFn::eq, {lse, constant(-kInfinity)}), constant(0), lse);
  return apply(ElementwiseFn::exp, {sub(scores, column(lse))});
}

void Decomposition::forward(nn::AttentionOp op) {
  Value lse;
  bool keepsLse = !op.getLse().use_empty();
  Value probabilities = cast(weights(scores(), keepsLse ? &lse : nullptr), element);
  replaceHeads(op->getResult(0), "bHqe",
               [&](StringRef order) { return contract("bHqk,bhke->" + order.str(), probabilities, value); });
  if (keepsLse)
    op.getLse().replaceAllUsesWith(reshape(lse, nn::tensorType(op.getLse()).getShape()));
}

/// dp = dy v^T; ds = p * (dp - sum(p * dp)) * scale.
void Decomposition::backward(nn::AttentionBwdOp op) {
  Value doutput = splitHeads(op.getDoutput());
  Value scored = scores();
  Value p = lseSuffices() ? weightsByLse(scored, op.getLse()) : weights(scored, nullptr);
  Value dp = cast(contract("bHqe,bhke->bHqk", doutput, value), wide);
  Value mean = reduce(ReduceKind::sum, mul(p, dp));
  Value ds = mul(mul(p, sub(dp, column(mean))), constant(scale));
  ds.getDefiningOp()->setAttr("accum.part", builder.getStringAttr("attention_weights_bwd"));
  Value seen = hidden == HiddenScore::replaced && !lseSuffices() ? visible(nn::tensorType(ds)) : Value();
  if (seen) // weights of hidden keys are zero but in rows that see nothing
    ds = select(seen, ds, constant(0));
  ds = cast(ds, element);
  p = cast(p, element);
  replaceHeads(op->getResult(0), "bHqd",
               [&](StringRef order) { return contract("bHqk,bhkd->" + order.str(), ds, key); });
  replaceHeads(op->getResult(1), "bhkd",
               [&](StringRef order) { return contract("bHqk,bHqd->" + order.str(), ds, query); });
  replaceHeads(op->getResult(2), "bhke",
               [&](StringRef order) { return contract("bHqk,bHqe->" + order.str(), p, doutput); });
}

struct DecomposeAttention : impl::DecomposeAttentionBase<DecomposeAttention> {
  using DecomposeAttentionBase::DecomposeAttentionBase;

  void runOnOperation() override {
    nn::PlacedBuilder builder(&getContext());
    SmallVector<nn::AttentionOp> forward;
    SmallVector<nn::AttentionBwdOp> backward;
    auto stays = [&](Operation *op) { return tiles && fitsTiles(op); };
    getOperation()->walk([&](nn::AttentionOp op) {
      if (!stays(op))
        forward.push_back(op);
    });
    getOperation()->walk([&](nn::AttentionBwdOp op) {
      if (!stays(op))
        backward.push_back(op);
    });
    // Backward first: what it reads of an attention it need not keep any more.
    for (nn::AttentionBwdOp op : backward) {
      Decomposition(builder, op).backward(op);
      op.erase();
    }
    for (nn::AttentionOp op : forward) {
      Decomposition(builder, op).forward(op);
      op.erase();
    }
    if (builder.failed())
      signalPassFailure();
  }
};

} // namespace
} // namespace accum
