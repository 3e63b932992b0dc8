// SPDX-License-Identifier: Apache-2.0
// Elements that are drawn: dropout, uniform and normal numbers. All of it is integer arithmetic and f32
// operations that are rounded alike everywhere, so that the numbers have the same bits wherever they are
// drawn.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/Codegen/Emitter.h"
#include <numbers>

using namespace mlir;

namespace accum::codegen {

namespace {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
struct Philox {
  ImplicitLocOpBuilder &builder;

  Value constant(Value like, uint32_t value) const {
    IntegerAttr attribute = builder.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto shaped = dyn_cast<ShapedType>(like.getType()))
      return arith::ConstantOp::create(builder, DenseElementsAttr::get(shaped, Attribute(attribute)));
    return arith::ConstantOp::create(builder, attribute);
  }

  void round(std::array<Value, 4> &counter, const std::array<Value, 2> &key) const {
    auto left = arith::MulUIExtendedOp::create(builder, counter[0], constant(counter[0], 0xD2511F53u));
    auto right = arith::MulUIExtendedOp::create(builder, counter[2], constant(counter[2], 0xCD9E8D57u));
    auto mix = [&](Value high, Value word, Value keyWord) -> Value {
      return arith::XOrIOp::create(builder, arith::XOrIOp::create(builder, high, word), keyWord);
    };
    counter = {mix(right.getHigh(), counter[1], key[0]), right.getLow(),
               mix(left.getHigh(), counter[3], key[1]), left.getLow()};
  }

  std::array<Value, 4> operator()(std::array<Value, 4> counter, std::array<Value, 2> key) const {
    for (int i = 0; i < 10; ++i) {
      if (i > 0) {
        key[0] = arith::AddIOp::create(builder, key[0], constant(key[0], 0x9E3779B9u));
        key[1] = arith::AddIOp::create(builder, key[1], constant(key[1], 0xBB67AE85u));
      }
      round(counter, key);
    }
    return counter;
  }
};

/// f32 numbers of random words, in the form of one.
struct Numbers {
  ImplicitLocOpBuilder &builder;
  Type words, floats;

  Numbers(ImplicitLocOpBuilder &builder, Value word)
      : builder(builder), words(word.getType()), floats(builder.getF32Type()) {
    if (auto shaped = dyn_cast<ShapedType>(words))
      floats = shaped.clone(floats);
  }

  Value splat(Type type, Attribute number) const {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(builder, DenseElementsAttr::get(shaped, number));
    return arith::ConstantOp::create(builder, cast<TypedAttr>(number));
  }
  Value integer(uint32_t value) const {
    return splat(words, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value real(double value) const { return splat(floats, builder.getF32FloatAttr(static_cast<float>(value))); }
  Value add(Value a, Value b) const { return arith::AddFOp::create(builder, a, b); }
  Value mul(Value a, Value b) const { return arith::MulFOp::create(builder, a, b); }
  Value toFloat(Value word) const { return arith::SIToFPOp::create(builder, floats, word); }
  Value bitsOf(Value number) const { return arith::BitcastOp::create(builder, words, number); }
  Value ofBits(Value word) const { return arith::BitcastOp::create(builder, floats, word); }
  Value shiftLeft(Value word, uint32_t by) const { return arith::ShLIOp::create(builder, word, integer(by)); }
  Value sum(Value a, Value b) const { return arith::AddIOp::create(builder, a, b); }
  Value difference(Value a, Value b) const { return arith::SubIOp::create(builder, a, b); }
  Value isBelow(Value a, Value b) const {
    return arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT, a, b);
  }
  Value select(Value condition, Value yes, Value no) const {
    return arith::SelectOp::create(builder, condition, yes, no);
  }
  /// The bit `bit` of a word.
  Value has(Value word, uint32_t bit) const {
    Value masked = arith::AndIOp::create(builder, word, integer(bit));
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, masked, integer(0));
  }
  /// 1 + x * (c1 + x * (c2 + ..)).
  Value series(Value x, ArrayRef<double> coefficients) const {
    Value value = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      value = add(mul(value, x), real(coefficient));
    return add(mul(value, x), real(1));
  }

  /// In [0, 1): all 32 bits count where f32 has room for them, near zero, and what would be rounded to one
  /// stays below.
  Value uniform(Value word) const {
    Value high = toFloat(arith::ShRUIOp::create(builder, word, integer(8)));
    Value low = toFloat(arith::AndIOp::create(builder, word, integer(255)));
    Value value = add(mul(high, real(0x1p-24)), mul(low, real(0x1p-32))), most = real(1 - 0x1p-24);
    return select(isBelow(value, most), value, most);
  }

  /// Of a normal number above zero: x = 2^n * m with m between the roots of 1/2 and 2, and the series of
  /// log(m) = 2 artanh((m - 1) / (m + 1)).
  Value logarithm(Value x) const {
    constexpr uint32_t rootOfHalf = 0x3F3504F3;
    Value bits = bitsOf(x);
    Value exponent = arith::ShRSIOp::create(builder, difference(bits, integer(rootOfHalf)), integer(23));
    Value m = ofBits(difference(bits, shiftLeft(exponent, 23)));
    Value s = arith::DivFOp::create(builder, add(m, real(-1)), add(m, real(1)));
    Value rest = mul(add(s, s), series(mul(s, s), {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9}));
    return add(mul(toFloat(exponent), real(std::numbers::ln2)), rest);
  }

  /// cos(2 pi word / 2^32): the nearest quarter of a turn, and the rest by its Taylor series.
  Value cosine(Value word) const {
    Value quarter = arith::ShRUIOp::create(builder, sum(word, integer(1u << 29)), integer(30));
    Value rest = toFloat(difference(word, shiftLeft(quarter, 30)));
    Value angle = mul(rest, real(2 * std::numbers::pi * 0x1p-32)), square = mul(angle, angle);
    Value sine = mul(angle, series(square, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880}));
    Value even = series(square, {-1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800});
    Value value = select(has(quarter, 1), sine, even);
    Value isNegative = has(sum(quarter, integer(1)), 2);
    return select(isNegative, arith::NegFOp::create(builder, value), value);
  }

  /// Box-Muller, the first of the pair; at most 6.8 in size.
  Value normal(Value first, Value second) const {
    Value u = uniform(first), least = real(0x1p-33);
    Value radius = mul(logarithm(select(isBelow(u, least), least, u)), real(-2));
    return mul(math::SqrtOp::create(builder, radius), cosine(second));
  }
};

/// Words below it are `ratio` of all.
uint32_t thresholdOf(double ratio) {
  return static_cast<uint32_t>(std::min(std::round(std::ldexp(ratio, 32)), std::ldexp(1.0, 32) - 1));
}

} // namespace

/// Low (or high) 32 bits.
Element Emitter::half(Element wide, bool high) {
  bool vector = isa<VectorType>(wide.value.getType());
  in(wide.scope);
  Value value = wide.value;
  if (high) {
    Value bits = arith::ConstantOp::create(
        builder, vector ? TypedAttr(builder.getI64VectorAttr(SmallVector<int64_t>(lanes, 32)))
                        : TypedAttr(builder.getI64IntegerAttr(32)));
    value = arith::ShRUIOp::create(builder, value, bits);
  }
  Type type = vector ? Type(vectorOf(builder.getI32Type())) : builder.getI32Type();
  return {arith::TruncIOp::create(builder, type, value), wide.scope};
}

/// Counter: element of the sample's slab, sample in the global window, step (low, high). Key: seed ^ op key,
/// or the op's key alone where it is a seed itself.
template <class Op> Emitter::RandomWords Emitter::randomWords(Op op, ArrayRef<Index> at, Mask mask) {
  auto type = mlir::cast<RankedTensorType>(op.getType());
  SmallVector<Index> where(at);
  SmallVector<int64_t> slab(type.getShape());
  Index sample = constantIndex(0);
  auto keyedBy = [&](int64_t number) { return element(op.getSource()[0], {constantIndex(number)}, {}); };
  if (op.getDim()) {
    int64_t dim = *op.getDim(), outer = op.getOuter().value_or(1), rows = op.getRows().value_or(1);
    auto position = samplePosition(at[dim], type.getDimSize(dim), outer, rows);
    Element before = keyedBy(2);
    if (mlir::cast<RankedTensorType>(op.getSource()[1].getType()).getRank() == 1) {
      Element place = element(op.getSource()[1], {position.sample}, mask);
      bool isVector = isa<VectorType>(place.value.getType());
      sample = {place.value, place.scope, isVector ? Index::Form::Vector : Index::Form::Uniform};
    } else {
      Element firstRow = element(op.getSource()[1], {}, {});
      sample = add(position.sample, uniform(firstRow.value, firstRow.scope));
    }
    sample = add(sample, uniform(before.value, before.scope));
    if (op.getKeyed()) {
      outer = (*op.getKeyed())[dim];
      rows = (*op.getKeyed())[dim + 1];
    }
    where[dim] = linearize({position.outer, position.row}, {outer, rows});
    slab[dim] = outer * rows;
  }
  if (op.getKeyed()) // the axis of the samples stands there as two
    for (size_t d = 0, from = 0; d < slab.size(); ++d, ++from) {
      bool hasSamples = op.getDim() && d == *op.getDim();
      if (!hasSamples)
        slab[d] = (*op.getKeyed())[from];
      from += hasSamples;
    }
  Element step = keyedBy(1), key = constant(builder.getI64IntegerAttr(op.getKey()));
  if (!op.getSeeded()) {
    Element seed = keyedBy(0);
    key = {arith::XOrIOp::create(in(seed.scope), seed.value, key.value), seed.scope};
  }
  auto wide = [&](Index index) {
    return index.isUniform() ? Element{index.value, index.scope} : lanesOf(index);
  };
  Element words[] = {half(wide(linearize(where, slab)), false),
                     half(wide(sample), false),
                     half(step, false),
                     half(step, true),
                     half(key, false),
                     half(key, true)};
  Scope *scope = unify(words);
  auto drawn = Philox{in(scope)}({words[0].value, words[1].value, words[2].value, words[3].value},
                                 {words[4].value, words[5].value});
  return {drawn[0], drawn[1], scope};
}

/// `input` / (1 - ratio) with probability 1 - ratio, else 0.
Element Emitter::keep(const RandomWords &drawn, double ratio, Element input) {
  // Dropped with probability ratio: word < ratio * 2^32.
  Element threshold = constant(builder.getI32IntegerAttr(static_cast<int32_t>(thresholdOf(ratio))));
  Type type = getElementTypeOrSelf(input.value);
  Element pair[] = {{drawn.first, drawn.scope}, threshold},
          scaled[] = {input, constant(type, 1 / (1 - ratio))};
  Scope *scope = unify(pair);
  Value kept = arith::CmpIOp::create(in(scope), arith::CmpIPredicate::uge, pair[0].value, pair[1].value);
  Scope *where = unify(scaled);
  Value product = arith::MulFOp::create(in(where), scaled[0].value, scaled[1].value);
  return select({kept, scope}, {product, where}, constant(type, 0));
}

Element Emitter::dropout(nn::DropoutOp op, ArrayRef<Index> at, Mask mask) {
  if (op.getSource().size() != 2) {
    refused = op;
    return {};
  }
  Type type = computeType(mlir::cast<RankedTensorType>(op.getType()).getElementType());
  double ratio = op.getRatio().convertToDouble();
  if (ratio >= 1)
    return constant(type, 0);
  return keep(randomWords(op, at, mask), ratio, element(op.getInput(), at, mask));
}

Element Emitter::random(nn::RandomOp op, ArrayRef<Index> at, Mask mask) {
  if (op.getSource().size() != 2) {
    refused = op;
    return {};
  }
  Type type = mlir::cast<RankedTensorType>(op.getType()).getElementType();
  RandomWords drawn = randomWords(op, at, mask);
  if (op.getKind() == nn::RandomKind::mask)
    return keep(drawn, op.getRatio()->convertToDouble(), constant(computeType(type), 1));
  Numbers numbers(in(drawn.scope), drawn.first);
  Value value = op.getKind() == nn::RandomKind::uniform ? numbers.uniform(drawn.first)
                                                        : numbers.normal(drawn.first, drawn.second);
  return convert({value, drawn.scope}, builder.getF32Type(), type);
}

} // namespace accum::codegen
