// SPDX-License-Identifier: Apache-2.0
// The part that computes a running sum: one pass along the axis, vectors along the last axis where that is
// another one.
#include "passes/Codegen/Part.h"

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
    Element zero = emitter.constant(carried, 0);
    bool wide = emitter.laneCount() > 1 && vectors();
    Value initial = wide ? emitter.splat(zero).value : zero.value;
    auto step = [&](Scope *inner, Value count, ValueRange sums) -> Emitter::Values {
      Index here{count, inner};
      if (op.getReverse())
        here.value = arith::SubIOp::create(emitter.in(inner), emitter.integer(extent - 1), count);
      at[axis] = here;
      Element before{sums[0], inner}, term = emitter.element(op.getInput(), at, mask);
      term = emitter.convert(term, element, carried);
      if (wide)
        term = emitter.splat(term);
      Value after = applyFunction(emitter.in(inner), nn::ElementwiseFn::add, {before.value, term.value});
      Element shown = op.getExclusive() ? before : Element{after, inner};
      root.write(emitter, at, mask, emitter.convert(shown, carried, element), inner);
      return {after};
    };
    emitter.loop(scope, emitter.integer(0), emitter.integer(extent), 1, initial, step);
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
