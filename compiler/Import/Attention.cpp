// SPDX-License-Identifier: Apache-2.0
// Rules: Attention (opset 23) as nn.attention, or as products and a softmax where that has no room for it.
#include "compiler/Import/Binder.h"
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
} // namespace

/// Outputs 1 to 3 (present keys, values, scores) are not made: reading one is refused where it is read.
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
static Value splitGroups(Emitter &emit, Value query, int64_t axis, int64_t keyHeads) {
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
    heads.query = splitGroups(emit, heads.query, axis, key[axis].count);
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
    return splitGroups(emit, mask, static_cast<int64_t>(axis), keyHeads);
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), Extent::fixed(1));
  return emit.reshape(mask, shape);
}

/// Position q sees the positions up to its own.
static Value causalMask(Emitter &emit, const Shape &scores) {
  Shape corner(ArrayRef(scores).take_back(2));
  if (corner[0].batched || corner[1].batched)
    refuseCrossBatch("attends over the batch axis");
  Folded mask = foldTrilu(Content::splat(DType::Bool, corner, Element::integer(1)), 0, /*upper=*/false);
  return emit.constant(*mask);
}

static Value probabilities(Binder &node, const Heads &heads, Value scores) {
  Emitter &emit = node.emit;
  auto axis = static_cast<int64_t>(shapeOf(scores).size()) - 1;
  Value causal = node.integer("is_causal", 0) != 0 ? causalMask(emit, shapeOf(scores)) : Value();
  Value mask = node.has(3) ? node.value(3) : Value();
  if (mask && (shapeOf(mask).empty() || shapeOf(mask).size() > 4))
    refuseMalformed("has a mask of rank " + std::to_string(shapeOf(mask).size()));
  if (mask && heads.isGrouped())
    mask = groupedMask(emit, mask, shapeOf(scores)[1].count);
  bool additive = mask && !elementTypeOf(mask).isInteger(1);
  if (additive)
    scores = emit.add(scores, mask);
  Value allowed = additive ? causal : mask;
  if (causal && allowed != causal)
    allowed = mask ? emit.elementwise(nn::ElementwiseFn::logical_and, {mask, causal}) : causal;
  if (additive && allowed)
    scores = emit.select(allowed, scores,
                         emit.scalar(elementTypeOf(scores), -std::numeric_limits<double>::infinity()));
  if (additive)
    return emit.safeSoftmax(scores, axis);
  return allowed ? emit.maskedSoftmax(scores, allowed, axis) : emit.softmax(scores, axis);
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

/// One op; false, with nothing set, where shapes or a soft cap do not fit it.
static bool attendAtOnce(Binder &node, double scale) {
  Emitter &emit = node.emit;
  if (node.real("softcap", 0) != 0)
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
  Value mask;
  if (node.has(3)) {
    mask = wholeMask(emit, node.value(3), {query[0], query[1], query[2], key[2]});
    if (!mask || (!elementTypeOf(mask).isInteger(1) && elementTypeOf(mask) != elementTypeOf(qkv[0])))
      return false;
  }
  bool isCausal = node.integer("is_causal", 0) != 0;
  emit.sawCausalMask |= isCausal;
  Type element = elementTypeOf(qkv[0]);
  Type statistics =
      emit.type(ArrayRef(query).drop_back(), element.isF64() ? element : Type(emit.builder.getF32Type()));
  query[3] = value[3];
  auto hidden = mask || isCausal ? nn::HiddenScore::excluded : nn::HiddenScore::infinite;
  Value result =
      nn::AttentionOp::create(emit.builder, emit.location, TypeRange{emit.type(query, element), statistics},
                              qkv[0], qkv[1], qkv[2], mask, hidden, isCausal, APFloat(scale))
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
  if (attendAtOnce(node, scale))
    return;
  Value scores = emit.contract(heads.queryLetters + "," + heads.keyLetters + "->" + heads.scoreLetters,
                               emit.scale(heads.query, scale), heads.key);
  double cap = node.real("softcap", 0);
  if (cap != 0)
    scores = emit.scale(emit.unary(nn::ElementwiseFn::tanh, emit.scale(scores, 1 / cap)), cap);
  Value weights = probabilities(node, heads, scores);
  Value output = emit.contract(heads.scoreLetters + "," + heads.valueLetters + "->" + heads.outputLetters,
                               weights, heads.value);
  node.set(0, emit.reshape(output, heads.output));
}

void addAttentionRules(RuleTable &table) {
  table.add("Attention", 23, attention);
  addRotaryRule(table);
}

} // namespace accum::import
