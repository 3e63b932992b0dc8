// SPDX-License-Identifier: Apache-2.0
// Building nn ops: reductions, means, contractions.
#include "compiler/Import/rules/OperandTypes.h"
#include "compiler/Import/walk/BakedIn.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;

namespace accum::import {
using nn::ReduceKind;

Value Emitter::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepAsOnes, bool first) {
  if (axes.empty())
    return x;
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  Shape shape = shapeOf(x);
  Value result = nn::ReduceOp::create(builder, location, type(dropAxes(shape, sorted), elementTypeOf(x)),
                                      kind, x, builder.getDenseI64ArrayAttr(sorted), first);
  return keepAsOnes ? reshape(result, dropAxes(shape, sorted, true)) : result;
}

Value Emitter::batchSize() {
  return nn::BatchSizeOp::create(builder, location, type({}, builder.getI64Type()));
}

Value Emitter::count(Volume volume, Type element) {
  if (volume.power == 0)
    return scalar(element, static_cast<double>(volume.count));
  Value samples = batchSize();
  if (volume.count != 1)
    samples = mul(samples, integerScalar(builder.getI64Type(), volume.count));
  return cast(samples, element);
}

Value Emitter::mean(Value x, ArrayRef<int64_t> axes, bool keepAsOnes) {
  Shape shape = shapeOf(x), reduced;
  for (int64_t axis : axes)
    reduced.push_back(shape[axis]);
  Volume volume = volumeOf(reduced);
  if (volume.power > 1)
    refuseCrossBatch("averages over pairs of samples");
  return div(reduce(ReduceKind::sum, x, axes, keepAsOnes), count(volume, elementTypeOf(x)));
}

Value Emitter::softmax(Value x, int64_t axis, bool log) {
  requireFloats(x);
  return nn::SoftmaxOp::create(builder, location, x.getType(), x, builder.getI64IntegerAttr(axis),
                               log ? builder.getUnitAttr() : UnitAttr());
}

Value Emitter::safeSoftmax(Value x, int64_t axis) {
  Value lowest = scalar(elementTypeOf(x), -std::numeric_limits<double>::infinity());
  Value zero = scalar(elementTypeOf(x), 0);
  Value dead = elementwise(nn::ElementwiseFn::eq, {reduce(ReduceKind::max, x, {axis}, true), lowest});
  return select(dead, zero, softmax(select(dead, zero, x), axis));
}

Value Emitter::maskedSoftmax(Value x, Value allowed, int64_t axis) {
  Value lowest = scalar(elementTypeOf(x), -std::numeric_limits<double>::infinity());
  int64_t maskAxis = axis - static_cast<int64_t>(shapeOf(x).size() - shapeOf(allowed).size());
  Value count = reduce(ReduceKind::max, cast(allowed, builder.getI64Type()), {maskAxis}, true);
  Value alive = cast(count, builder.getI1Type());
  Value kept =
      elementwise(nn::ElementwiseFn::logical_or, {allowed, unary(nn::ElementwiseFn::logical_not, alive)});
  return select(alive, softmax(select(kept, x, lowest), axis), scalar(elementTypeOf(x), 0));
}

Value Emitter::contract(const std::string &spec, Value lhs, Value rhs) {
  StringRef text(spec);
  auto [operands, result] = text.split("->");
  auto [left, right] = operands.split(',');
  llvm::SmallDenseMap<char, Extent> extents;
  auto bind = [&](StringRef letters, Value value) {
    if (letters.size() != shapeOf(value).size())
      refuseMalformed("names the axes `" + letters.str() + "` of an operand of shape " +
                      toString(shapeOf(value)));
    for (auto [letter, extent] : llvm::zip_equal(letters, shapeOf(value))) {
      Extent known = extents.try_emplace(letter, extent).first->second;
      if (known == extent)
        continue;
      std::string pair = toString({known}) + " and " + toString({extent});
      if (known.batched != extent.batched)
        refuseBakedIn("multiplies extents " + pair);
      refuseMalformed("multiplies matrices with inner extents " + pair);
    }
  };
  bind(left, lhs);
  bind(right, rhs);
  Shape shape;
  for (char letter : result) {
    if (extents.count(letter) == 0)
      refuseMalformed(std::string("has the axis `") + letter + "` in its result only");
    shape.push_back(extents.lookup(letter));
  }
  for (StringRef letters : {left, right, result})
    for (size_t i = 0; i < letters.size(); ++i)
      if (letters.find(letters[i]) != i)
        refuseUnsupported("takes a diagonal: an axis stands twice in `" + letters.str() + "`");
  if (elementTypeOf(lhs) != elementTypeOf(rhs))
    refuseMalformed("has operands of different element types");
  // A sum over nothing, or one that nobody sees: libraries take no extent of 0.
  if (llvm::any_of(extents, [](const auto &entry) { return entry.second.count == 0; }))
    return broadcastTo(scalar(elementTypeOf(lhs), 0), shape);
  return nn::ContractOp::create(builder, location, type(shape, elementTypeOf(lhs)), lhs, rhs,
                                builder.getStringAttr(spec));
}

} // namespace accum::import
