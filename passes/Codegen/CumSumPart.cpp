// SPDX-License-Identifier: Apache-2.0
// The part that computes a running sum: one pass along the axis, vectors along the last axis where that is
// another one.
#include "passes/Codegen/Part.h"
#include <limits>

using namespace mlir;

namespace accum::codegen {
namespace {

class CumSumPart : public Part {
public:
  CumSumPart(const Root &root, nn::CumSumOp op) : root(root), op(op) {
    outer = SmallVector<int64_t>(root.type().getShape());
    outer[op.getAxis()] = 1;
    if (vectors())
      columns = std::exchange(outer.back(), 1);
  }

  int64_t rows() const override { return product(outer); }
  int64_t lanes(int64_t machine) const override {
    return vectors() ? std::min<int64_t>(machine, llvm::PowerOf2Ceil(columns)) : 1;
  }

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    SmallVector<Index> at = emitter.delinearize(row, outer);
    if (!vectors())
      return emitLine(emitter, scope, at, {});
    emitter.lanesLoop(scope, emitter.integer(0), emitter.integer(columns),
                      [&](Scope *inner, Index lane, Mask mask) {
                        SmallVector<Index> here(at);
                        here.back() = lane;
                        emitLine(emitter, inner, here, mask);
                      });
  }

private:
  bool vectors() const { return static_cast<int64_t>(op.getAxis()) + 1 < root.type().getRank(); }

  void emitLine(Emitter &emitter, Scope *scope, SmallVector<Index> at, Mask mask) const {
    int64_t axis = op.getAxis(), extent = root.type().getDimSize(axis);
    Type element = root.type().getElementType();
    Type carried = isa<FloatType>(element) ? emitter.in(scope).getF64Type() : computeType(element);
    Element zero = emitter.constant(carried, op.getLog() ? -1 : 0);
    bool wide = emitter.laneCount() > 1 && vectors();
    auto start = [&](Element value) { return wide ? emitter.splat(value).value : value.value; };
    Emitter::Values initial{start(zero)};
    if (op.getLog())
      initial.push_back(start(emitter.constant(computeType(element), kLowest)));
    auto step = [&](Scope *inner, Value count, ValueRange sums) -> Emitter::Values {
      Index here{count, inner};
      if (op.getReverse())
        here.value = arith::SubIOp::create(emitter.in(inner), emitter.integer(extent - 1), count);
      at[axis] = here;
      Element term = emitter.element(op.getInput(), at, mask);
      if (op.getLog()) {
        LogSum after = addExponential(emitter, {sums[0], sums[1]}, start(term), inner);
        root.write(emitter, at, mask, logarithm(emitter, after, element, inner), inner);
        return {after.rest, after.top};
      }
      Element before{sums[0], inner};
      term = {start(emitter.convert(term, element, carried)), inner};
      Value after = applyFunction(emitter.in(inner), nn::ElementwiseFn::add, {before.value, term.value});
      Element shown = op.getExclusive() ? before : Element{after, inner};
      root.write(emitter, at, mask, emitter.convert(shown, carried, element), inner);
      return {after};
    };
    emitter.loop(scope, emitter.integer(0), emitter.integer(extent), 1, initial, step);
  }

  /// exp(top) * (1 + rest) with the largest term so far: what is alongside it may be small. In f64 as every
  /// running sum.
  struct LogSum {
    Value rest, top;
  };
  /// Lower than any number whose exponential counts. Not -inf, whose differences would be NaN.
  static constexpr double kLowest = std::numeric_limits<float>::lowest();

  static LogSum addExponential(Emitter &emitter, LogSum before, Value x, Scope *scope) {
    using nn::ElementwiseFn;
    ImplicitLocOpBuilder &b = emitter.in(scope);
    auto apply = [&](ElementwiseFn fn, ValueRange operands) {
      return applyFunction(b, fn, SmallVector<Value>(operands));
    };
    Value isEqual = apply(ElementwiseFn::eq, {x, before.top}); // perhaps the same infinity
    Value distance = apply(ElementwiseFn::abs, {apply(ElementwiseFn::sub, {x, before.top})});
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(distance.getType()));
    distance = arith::SelectOp::create(b, isEqual, zero, distance);
    Value share = apply(ElementwiseFn::exp, {apply(ElementwiseFn::neg, {distance})});
    Type wide = before.rest.getType();
    if (share.getType() != wide)
      share = arith::ExtFOp::create(b, wide, share);
    Value one = arith::ConstantOp::create(b, cast<TypedAttr>(b.getOneAttr(wide)));
    Value raised = apply(ElementwiseFn::mul, {apply(ElementwiseFn::add, {before.rest, one}), share});
    Value rest = arith::SelectOp::create(b, apply(ElementwiseFn::gt, {x, before.top}), raised,
                                         apply(ElementwiseFn::add, {before.rest, share}));
    return {rest, apply(ElementwiseFn::max, {before.top, x})};
  }

  static Element logarithm(Emitter &emitter, LogSum of, Type element, Scope *scope) {
    Element rest = emitter.convert({of.rest, scope}, emitter.in(scope).getF64Type(), element);
    ImplicitLocOpBuilder &b = emitter.in(scope);
    Value log = applyFunction(b, nn::ElementwiseFn::log1p, {rest.value});
    return {applyFunction(b, nn::ElementwiseFn::add, {of.top, log}), scope};
  }

  Root root;
  mutable nn::CumSumOp op;
  SmallVector<int64_t> outer; ///< the result's shape, 1 on the axis and on what vectors run over
  int64_t columns = 1;
};

} // namespace

std::unique_ptr<Part> makeCumSumPart(const Root &root, nn::CumSumOp op) {
  return std::make_unique<CumSumPart>(root, op);
}

} // namespace accum::codegen
