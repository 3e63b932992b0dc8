// SPDX-License-Identifier: Apache-2.0
// Rules: dropout, and what else is drawn.
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace mlir;

namespace accum::import {

namespace {
struct Key {
  int64_t bits;
  bool isSeed; ///< the node's own, so that nodes of one seed draw the same numbers in every run
};
} // namespace

static Key keyOf(const Binder &node) {
  if (const auto *seed = node.node.attribute<float>("seed"))
    return {static_cast<int64_t>(llvm::xxh3_64bits(std::to_string(*seed))), true};
  return {static_cast<int64_t>(llvm::xxh3_64bits(StringRef(node.node.name))), false};
}

/// Drops in training mode only: inputs are data, ratio and the training flag, both known.
static void dropout(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue x = node.input(0);
  bool training = node.has(2) && node.integers(2) != SmallVector<int64_t>{0};
  double ratio = !training ? 0 : node.has(1) ? node.constantReal(1) : 0.5;
  if (node.wants(1)) {
    GraphValue mask(Content::splat(DType::Bool, x.shape, Element::integer(1)));
    if (training) {
      mask.content.reset();
      mask.refusal =
          std::make_shared<const Refusal>(Refusal{"unsupported", "reads the mask of a dropout", {}});
    }
    node.set(1, mask);
  }
  if (ratio == 0)
    return node.set(0, x);
  if (!(ratio > 0 && ratio < 1))
    refuseMalformed("has a dropout ratio outside of [0, 1)");
  Key key = keyOf(node);
  Value value = x.whole(emit);
  node.set(0, nn::DropoutOp::create(emit.builder, emit.location, value.getType(), value, ValueRange(),
                                    emit.builder.getF64FloatAttr(ratio),
                                    emit.builder.getI64IntegerAttr(key.bits), IntegerAttr(), IntegerAttr(),
                                    IntegerAttr(), key.isSeed ? emit.builder.getUnitAttr() : UnitAttr(),
                                    DenseI64ArrayAttr())
                  .getResult());
}

/// Numbers of that shape. What lies on a batch axis of `example` says in which order the samples are; a shape
/// alone has them one behind the other.
static Value draw(Binder &node, nn::RandomKind kind, const Shape &shape, DType dtype,
                  const GraphValue *example) {
  Emitter &emit = node.emit;
  requireSane(shape);
  bool hasSamples = llvm::any_of(shape, [](const Extent &extent) { return extent.batched; });
  bool isData = example && example->value && !example->content && hasSamples;
  Key key = keyOf(node);
  return nn::RandomOp::create(emit.builder, emit.location, emit.type(shape, emit.elementType(dtype)),
                              isData ? example->whole(emit) : Value(), ValueRange(), kind,
                              static_cast<uint64_t>(key.bits), key.isSeed, FloatAttr(), IntegerAttr(),
                              IntegerAttr(), IntegerAttr(), DenseI64ArrayAttr());
}

/// By the attribute `dtype`, else `absent`.
static DType drawnType(Binder &node, DType absent) {
  std::optional<DType> type = dtypeFromNumber(node.integer("dtype", static_cast<int64_t>(absent)));
  if (!type || !isFloat(*type))
    refuseMalformed("draws numbers of a type that is no float");
  return computedIn(*type);
}

/// From [0, 1) to [low, high), also where the sum is rounded.
static Value between(Emitter &emit, Value uniform, double low, double high) {
  if (low == 0 && high == 1)
    return uniform;
  Type element = elementTypeOf(uniform);
  Value value = emit.scale(uniform, high - low);
  if (low == 0)
    return value;
  value = emit.add(value, emit.scalar(element, low));
  if (!(low < high))
    return value;
  float most = std::nextafter(static_cast<float>(high), static_cast<float>(low));
  return emit.elementwise(nn::ElementwiseFn::min, {value, emit.scalar(element, most)});
}

static void drawUniform(Binder &node, const Shape &shape, DType dtype, const GraphValue *example) {
  Value value = draw(node, nn::RandomKind::uniform, shape, dtype, example);
  node.set(0, GraphValue(dtype, between(node.emit, value, node.real("low", 0), node.real("high", 1))));
}

static void drawNormal(Binder &node, const Shape &shape, DType dtype, const GraphValue *example) {
  Value value = draw(node, nn::RandomKind::normal, shape, dtype, example);
  if (double scale = node.real("scale", 1); scale != 1)
    value = node.emit.scale(value, scale);
  if (double mean = node.real("mean", 0); mean != 0)
    value = node.emit.add(value, node.emit.scalar(elementTypeOf(value), mean));
  node.set(0, GraphValue(dtype, value));
}

using Distribution = void(Binder &, const Shape &, DType, const GraphValue *);

template <Distribution of> static void ofShape(Binder &node) {
  Shape shape;
  for (int64_t extent : node.integerList("shape")) {
    if (extent < 0)
      refuseMalformed("draws numbers of the impossible shape [.., " + std::to_string(extent) + ", ..]");
    shape.push_back(Extent::fixed(extent));
  }
  of(node, shape, drawnType(node, DType::Float32), nullptr);
}

template <Distribution of> static void likeInput(Binder &node) {
  const GraphValue example = node.input(0);
  of(node, example.shape, drawnType(node, example.dtype), &example);
}

/// One with the probability that the input says, through which no gradient goes, else zero.
static void bernoulli(Binder &node) {
  const GraphValue chance = node.input(0);
  if (!isFloat(chance.dtype))
    refuseMalformed("has probabilities that are no floats");
  std::optional<DType> type = dtypeFromNumber(node.integer("dtype", static_cast<int64_t>(chance.dtype)));
  if (!type)
    refuseMalformed("draws an element type that ONNX does not have");
  GraphValue uniform(chance.dtype, draw(node, nn::RandomKind::uniform, chance.shape, chance.dtype, &chance));
  GraphValue hit = elementwise(node.emit, nn::ElementwiseFn::lt, {&uniform, &chance});
  node.set(0, cast(node.emit, hit, computedIn(*type)));
}

static void multinomial(Binder & /*node*/) {
  throw Refusal{"unsupported",
                "draws indices by given probabilities, which is not built; uniform, normal and Bernoulli "
                "numbers are",
                {"(logits - (-torch.rand_like(logits).log()).log()).argmax(-1) draws one index of each row "
                 "with the same probabilities"}};
}

void addRandomRules(RuleTable &table) {
  table.add("Dropout", 12, dropout, "seed");
  table.add("Bernoulli", 15, bernoulli, "dtype seed");
  table.add("Multinomial", 7, multinomial, "~dtype ~sample_size ~seed");
  table.add("RandomNormal", 1, ofShape<drawNormal>, "dtype mean scale seed shape");
  table.add("RandomNormalLike", 1, likeInput<drawNormal>, "dtype mean scale seed");
  table.add("RandomUniform", 1, ofShape<drawUniform>, "dtype high low seed shape");
  table.add("RandomUniformLike", 1, likeInput<drawUniform>, "dtype high low seed");
}

} // namespace accum::import
