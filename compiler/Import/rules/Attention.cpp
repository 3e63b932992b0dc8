// SPDX-License-Identifier: Apache-2.0
// Rules: Attention (opset 23) as nn.attention, or as products and a softmax where that has no room for it.
#include "compiler/Import/walk/Binder.h"
#include "compiler/Import/walk/DependsOnTraining.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace accum::import {

void addRotaryRule(RuleTable &table);

namespace {
/// Queries, keys and values with their heads split off. Letters: b batch, h key head, g query heads for each
/// key head, q and k positions, d and e features.
struct Heads {
  Value query, key, value;
  std::string queryLetters = "bhgqd", keyLetters = "bhkd", valueLetters = "bhke", outputLetters = "bhgqe";
  std::string scoreLetters = "bhgqk"; ///< every `g` is left out where each key head has one query head
  Shape output;                       ///< of the node's result
  int64_t size = 0;

  bool isGrouped() const { return scoreLetters.size() == 5; }
};

struct Mask {
  Value added; ///< to the scores; null where nothing is
  Value shown; ///< i1, which keys a query sees; null: all
  bool isCausal = false;
};

struct Scores {
  Value product, capped, masked, probabilities;
};
} // namespace

static void refuseStates(Binder &node) {
  if (node.has(4) || node.has(5))
    refuseUnsupported("has past keys and values, which training has not");
  if (node.has(6))
    refuseUnsupported("has the input nonpad_kv_seqlen");
}

/// [B, S, heads * size] as [B, S, heads, size].
static Value splitHeads(Emitter &emit, Value x, int64_t heads) {
  Shape shape = shapeOf(x);
  if (heads < 1 || shape[2].batched || shape[2].count % heads != 0)
    refuseMalformed("has a number of heads that does not divide its features");
  Extent size = Extent::fixed(shape[2].count / heads);
  return emit.reshape(x, {shape[0], shape[1], Extent::fixed(heads), size});
}

/// Query heads as [key heads, group].
static Value splitQueryHeads(Emitter &emit, Value query, int64_t axis, int64_t keyHeads) {
  Shape shape = shapeOf(query);
  if (keyHeads < 1 || shape[axis].batched || shape[axis].count % keyHeads != 0)
    refuseMalformed("has query heads that are no multiple of its key heads");
  Extent group = Extent::fixed(shape[axis].count / keyHeads);
  shape[axis] = Extent::fixed(keyHeads);
  shape.insert(shape.begin() + axis + 1, group);
  return emit.reshape(query, shape);
}

static Heads headsOf(Binder &node) {
  Emitter &emit = node.emit;
  Heads heads;
  heads.query = node.value(0), heads.key = node.value(1), heads.value = node.value(2);
  bool flat = node.input(0).rank() == 3;
  for (int64_t i = 0; i < 3; ++i)
    if (node.input(i).rank() != node.input(0).rank() || (!flat && node.input(i).rank() != 4))
      refuseMalformed("has queries, keys and values of rank other than 3 or 4");
  if (flat) {
    heads.query = splitHeads(emit, heads.query, node.integer("q_num_heads", 0));
    heads.key = splitHeads(emit, heads.key, node.integer("kv_num_heads", 0));
    heads.value = splitHeads(emit, heads.value, node.integer("kv_num_heads", 0));
    heads.queryLetters = "bqhgd", heads.keyLetters = "bkhd", heads.valueLetters = "bkhe";
    heads.outputLetters = "bqhge";
  }
  int64_t axis = flat ? 2 : 1;
  Shape key = shapeOf(heads.key), value = shapeOf(heads.value);
  heads.output = shapeOf(heads.query);
  heads.output.back() = value.back();
  heads.size = heads.output.empty() ? 0 : shapeOf(heads.query).back().count;
  if (heads.output[axis] == key[axis]) {
    for (std::string *letters : {&heads.queryLetters, &heads.outputLetters, &heads.scoreLetters})
      llvm::erase(*letters, 'g');
  } else {
    heads.query = splitQueryHeads(emit, heads.query, axis, key[axis].count);
  }
  if (flat)
    heads.output = {heads.output[0], heads.output[1],
                    Extent::fixed(heads.output[2].count * heads.output[3].count)};
  return heads;
}

/// A mask of up to four axes, [.., heads, q, k], with the heads as [key heads, group] where there are
/// several.
static Value groupedMask(Emitter &emit, Value mask, int64_t keyHeads) {
  Shape shape = shapeOf(mask);
  if (shape.size() < 3)
    return mask;
  size_t axis = shape.size() - 3;
  if (!shape[axis].isOne())
    return splitQueryHeads(emit, mask, static_cast<int64_t>(axis), keyHeads);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), Extent::fixed(1));
  return emit.reshape(mask, shape);
}

/// Ones on and below that diagonal of [queries, keys], or on and above it.
static Value triangle(Emitter &emit, const Shape &corner, int64_t diagonal, bool upper) {
  if (corner[0].batched || corner[1].batched)
    refuseCrossBatch("attends over the batch axis");
  Folded mask = foldTrilu(Content::splat(DType::Bool, corner, Element::integer(1)), diagonal, upper);
  return emit.constant(*mask);
}

/// Keys that the mask has no column for are hidden. One column is for all of them, as frameworks mean it.
static Value withAllColumns(Emitter &emit, Value mask, Extent keys) {
  Shape shape = shapeOf(mask);
  if (shape.empty() || shape.size() > 4)
    refuseMalformed("has a mask of rank " + std::to_string(shape.size()));
  int64_t missing = keys.count - shape.back().count;
  if (shape.back().isOne() || shape.back().batched || keys.batched || missing <= 0)
    return mask;
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
  high.back() = missing;
  Type element = elementTypeOf(mask);
  Value hidden = element.isInteger(1) ? emit.integerScalar(element, 0)
                                      : emit.scalar(element, -std::numeric_limits<double>::infinity());
  return emit.pad(mask, hidden, low, high);
}

static Mask maskOf(Binder &node, Extent queries, Extent keys) {
  Emitter &emit = node.emit;
  Mask mask;
  mask.isCausal = node.integer("is_causal", 0) != 0;
  if (node.has(3)) {
    Value given = withAllColumns(emit, node.value(3), keys);
    (elementTypeOf(given).isInteger(1) ? mask.shown : mask.added) = given;
  }
  int64_t left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  for (bool isLeft : {true, false})
    if (int64_t size = isLeft ? left : right; size >= 0) {
      Value window = triangle(emit, {queries, keys}, isLeft ? -size : size, /*upper=*/isLeft);
      mask.shown =
          mask.shown ? emit.elementwise(nn::ElementwiseFn::logical_and, {mask.shown, window}) : window;
    }
  return mask;
}

/// What the operator computes on its way: products, capped, with the mask, and as probabilities.
static Scores scoresOf(Binder &node, const Heads &heads, const Mask &mask, double scale) {
  Emitter &emit = node.emit;
  Scores scores;
  scores.product = emit.contract(heads.queryLetters + "," + heads.keyLetters + "->" + heads.scoreLetters,
                                 emit.scale(heads.query, scale), heads.key);
  scores.capped = scores.product;
  if (double cap = node.real("softcap", 0); cap != 0)
    scores.capped = emit.scale(emit.unary(nn::ElementwiseFn::tanh, emit.scale(scores.product, 1 / cap)), cap);
  Shape shape = shapeOf(scores.capped);
  auto axis = static_cast<int64_t>(shape.size()) - 1;
  auto grouped = [&](Value given) {
    return given && heads.isGrouped() ? groupedMask(emit, given, shape[1].count) : given;
  };
  Value shown = grouped(mask.shown), added = grouped(mask.added);
  if (mask.isCausal) {
    Value past = triangle(emit, Shape(ArrayRef(shape).take_back(2)), 0, /*upper=*/false);
    shown = shown ? emit.elementwise(nn::ElementwiseFn::logical_and, {shown, past}) : past;
  }
  scores.masked = added ? emit.add(scores.capped, added) : scores.capped;
  if (shown)
    scores.masked =
        emit.select(shown, scores.masked,
                    emit.scalar(elementTypeOf(scores.masked), -std::numeric_limits<double>::infinity()));
  if (added)
    scores.probabilities = emit.safeSoftmax(scores.masked, axis);
  else
    scores.probabilities =
        shown ? emit.maskedSoftmax(scores.capped, shown, axis) : emit.softmax(scores.capped, axis);
  return scores;
}

/// Keys and values as the operator saw them, and scores, of which `qk_matmul_output_mode` says which.
static void setFurtherOutputs(Binder &node, const Heads &heads, const Mask &mask, double scale) {
  Emitter &emit = node.emit;
  for (int64_t output : {1, 2})
    if (node.wants(output)) {
      Value state = output == 1 ? heads.key : heads.value;
      node.set(output, node.input(0).rank() == 3 ? emit.transpose(state, {0, 2, 1, 3}) : state);
    }
  if (!node.wants(3))
    return;
  int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    refuseMalformed("has a qk_matmul_output_mode of " + std::to_string(mode));
  Scores scores = scoresOf(node, heads, mask, scale);
  Value wanted[] = {scores.product, scores.capped, scores.masked, scores.probabilities};
  Shape shape = shapeOf(wanted[mode]);
  if (heads.isGrouped()) {
    shape[1].count *= shape[2].count;
    shape.erase(shape.begin() + 2);
  }
  node.set(3, emit.reshape(wanted[mode], shape));
}

/// Whether the samples, if any, lie along the first axis as queries' do, and nowhere else.
static bool isBatchedAs(const Shape &query, const Shape &shape) {
  bool isElsewhere = llvm::any_of(ArrayRef(shape).drop_front(), [](Extent extent) { return extent.batched; });
  return !isElsewhere && shape[0] == query[0];
}

/// The mask with four axes, each 1 or as the scores'; null where it is otherwise.
static Value wholeMask(Emitter &emit, Value mask, const Shape &scores) {
  Shape shape = shapeOf(mask);
  if (shape.empty() || shape.size() > 4)
    return {};
  shape.insert(shape.begin(), 4 - shape.size(), Extent::fixed(1));
  for (size_t axis = 0; axis < 4; ++axis)
    if (!shape[axis].isOne() && !(shape[axis] == scores[axis]))
      return {};
  return emit.reshape(mask, shape);
}

/// One op; false, with nothing set, where shapes or a soft cap do not fit it, or the mask has a gradient, for
/// which the op has no derivative.
static bool attendAtOnce(Binder &node, const Mask &given, double scale) {
  Emitter &emit = node.emit;
  if (node.real("softcap", 0) != 0 || (given.added && (given.shown || dependsOnTraining(given.added))))
    return false;
  bool isFlat = node.input(0).rank() == 3;
  SmallVector<Value, 3> qkv = {node.value(0), node.value(1), node.value(2)};
  for (auto [i, value] : llvm::enumerate(qkv))
    if (isFlat)
      value = emit.transpose(
          splitHeads(emit, value, node.integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0)), {0, 2, 1, 3});
  Shape query = shapeOf(qkv[0]), key = shapeOf(qkv[1]), value = shapeOf(qkv[2]);
  bool fits = isBatchedAs(query, query) && isBatchedAs(query, key) && isBatchedAs(query, value) &&
              key[1] == value[1] && key[2] == value[2] && query[3] == key[3] && key[1].count > 0 &&
              query[1].count % key[1].count == 0;
  if (!fits)
    return false;
  Value mask = given.added ? given.added : given.shown;
  if (mask) {
    mask = wholeMask(emit, mask, {query[0], query[1], query[2], key[2]});
    if (!mask || (!elementTypeOf(mask).isInteger(1) && elementTypeOf(mask) != elementTypeOf(qkv[0])))
      return false;
  }
  emit.sawCausalMask |= given.isCausal;
  Type element = elementTypeOf(qkv[0]);
  Type statistics =
      emit.type(ArrayRef(query).drop_back(), element.isF64() ? element : Type(emit.builder.getF32Type()));
  query[3] = value[3];
  auto hidden = mask || given.isCausal ? nn::HiddenScore::excluded : nn::HiddenScore::infinite;
  Value result =
      nn::AttentionOp::create(emit.builder, emit.location, TypeRange{emit.type(query, element), statistics},
                              qkv[0], qkv[1], qkv[2], mask, hidden, given.isCausal, APFloat(scale))
          .getResult();
  if (isFlat)
    result = emit.reshape(emit.transpose(result, {0, 2, 1, 3}),
                          {query[0], query[2], Extent::fixed(query[1].count * query[3].count)});
  node.set(0, result);
  return true;
}

static void attention(Binder &node) {
  Emitter &emit = node.emit;
  refuseStates(node);
  Heads heads = headsOf(node);
  double scale = node.real("scale", 0);
  if (!node.hasAttribute("scale"))
    scale = 1 / std::sqrt(static_cast<double>(heads.size));
  Mask mask = maskOf(node, shapeOf(heads.query)[heads.queryLetters.find('q')],
                     shapeOf(heads.key)[heads.keyLetters.find('k')]);
  setFurtherOutputs(node, heads, mask, scale);
  if (attendAtOnce(node, mask, scale))
    return;
  Value output = emit.contract(heads.scoreLetters + "," + heads.valueLetters + "->" + heads.outputLetters,
                               scoresOf(node, heads, mask, scale).probabilities, heads.value);
  node.set(0, emit.reshape(output, heads.output));
}

void addAttentionRules(RuleTable &table) {
  table.add("Attention", 23, attention,
            "is_causal left_window_size right_window_size kv_num_heads q_num_heads scale softcap "
            "qk_matmul_output_mode ~softmax_precision");
  addRotaryRule(table);
}

} // namespace accum::import
