// SPDX-License-Identifier: Apache-2.0
// Elements of ops that know which sample they belong to: row masks, shared terms, dropout.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

Element Emitter::maskRows(nn::MaskRowsOp op, ArrayRef<Index> at, Mask mask) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t samples = cast<RankedTensorType>(op.getValid().getType()).getNumElements();
  int64_t extent = type.getDimSize(op.getDim());
  int64_t rows = extent / (op.getOuter() * samples);
  Index sample = samplePosition(at[op.getDim()], extent, op.getOuter(), rows).sample;
  Element zero = constant(computeType(type.getElementType()), 0);
  return select(element(op.getValid(), {sample}, mask), element(op.getInput(), at, mask), zero);
}

Element Emitter::share(nn::ShareOp op, ArrayRef<Index> at, Mask mask) {
  if (op.getSource().size() != 1) {
    refused = op;
    return {};
  }
  Element firstRow = element(op.getSource()[0], {}, {});
  Value zero = constant(firstRow.value.getType(), 0).value;
  Value isFirst = arith::CmpIOp::create(in(firstRow.scope), arith::CmpIPredicate::eq, firstRow.value, zero);
  Type type = computeType(cast<RankedTensorType>(op.getType()).getElementType());
  return select({isFirst, firstRow.scope}, element(op.getInput(), at, mask), constant(type, 0));
}

namespace {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), first of its four
/// words.
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

  Value operator()(std::array<Value, 4> counter, std::array<Value, 2> key) const {
    for (int i = 0; i < 10; ++i) {
      if (i > 0) {
        key[0] = arith::AddIOp::create(builder, key[0], constant(key[0], 0x9E3779B9u));
        key[1] = arith::AddIOp::create(builder, key[1], constant(key[1], 0xBB67AE85u));
      }
      round(counter, key);
    }
    return counter[0];
  }
};

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

/// Counter: element of the sample's slab, sample in the global window, step (low, high). Key: seed ^ op key.
Element Emitter::randomWord(nn::DropoutOp op, ArrayRef<Index> at) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<Index> where(at);
  SmallVector<int64_t> slab(type.getShape());
  Index sample = constantIndex(0);
  if (op.getDim()) {
    int64_t dim = *op.getDim(), outer = op.getOuter().value_or(1), rows = op.getRows().value_or(1);
    auto position = samplePosition(at[dim], type.getDimSize(dim), outer, rows);
    where[dim] = linearize({position.outer, position.row}, {outer, rows});
    slab[dim] = outer * rows;
    Element firstRow = element(op.getSource()[1], {}, {});
    sample = add(position.sample, uniform(firstRow.value, firstRow.scope));
  }
  Element seed = element(op.getSource()[0], {constantIndex(0)}, {});
  Element step = element(op.getSource()[0], {constantIndex(1)}, {});
  Value key = constant(builder.getI64IntegerAttr(op.getKey())).value;
  seed.value = arith::XOrIOp::create(in(seed.scope), seed.value, key);
  auto wide = [&](Index index) {
    return index.isUniform() ? Element{index.value, index.scope} : lanesOf(index);
  };
  Element words[] = {half(wide(linearize(where, slab)), false),
                     half(wide(sample), false),
                     half(step, false),
                     half(step, true),
                     half(seed, false),
                     half(seed, true)};
  Scope *scope = unify(words);
  Value word = Philox{in(scope)}({words[0].value, words[1].value, words[2].value, words[3].value},
                                 {words[4].value, words[5].value});
  return {word, scope};
}

Element Emitter::dropout(nn::DropoutOp op, ArrayRef<Index> at, Mask mask) {
  if (op.getSource().size() != 2) {
    refused = op;
    return {};
  }
  Type type = computeType(cast<RankedTensorType>(op.getType()).getElementType());
  double ratio = op.getRatio().convertToDouble();
  if (ratio >= 1)
    return constant(type, 0);
  Element word = randomWord(op, at), input = element(op.getInput(), at, mask);
  // Dropped with probability ratio: word < ratio * 2^32.
  Element threshold = constant(builder.getI32IntegerAttr(static_cast<int32_t>(
      static_cast<uint32_t>(std::min(std::round(std::ldexp(ratio, 32)), std::ldexp(1.0, 32) - 1)))));
  Element pair[] = {word, threshold}, scaled[] = {input, constant(type, 1 / (1 - ratio))};
  Scope *scope = unify(pair);
  Value kept = arith::CmpIOp::create(in(scope), arith::CmpIPredicate::uge, pair[0].value, pair[1].value);
  Scope *where = unify(scaled);
  Value product = arith::MulFOp::create(in(where), scaled[0].value, scaled[1].value);
  return select({kept, scope}, {product, where}, constant(type, 0));
}

} // namespace accum::codegen
