// SPDX-License-Identifier: Apache-2.0
// Scattered sums into tables of a few rows become sums over columns.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_SUMFEWTARGETS
#include "passes/Fuse/Passes.h.inc"

namespace {

using Fn = nn::ElementwiseFn;

/// The updates are read once for each row of the table.
constexpr int64_t kFewTargets = 8;

class TableSum {
public:
  TableSum(nn::PlacedBuilder &builder, nn::ScatterAddOp op)
      : b(builder), op(op), loc(op.getLoc()), table(cast<RankedTensorType>(op.getType())) {}

  Value build() {
    SmallVector<Value> rows;
    for (int64_t row = 0; row < table.getDimSize(0); ++row)
      rows.push_back(sumOf(row));
    return rows.size() == 1 ? rows.front() : nn::ConcatOp::create(b, loc, rows, 0).getResult();
  }

private:
  Value constant(Type element, int64_t value) {
    auto type = RankedTensorType::get({}, element);
    TypedAttr number = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, double(value)))
                                               : TypedAttr(b.getIntegerAttr(element, value));
    return nn::ConstantOp::create(b, loc, nn::Placement::replicated().place(type),
                                  DenseElementsAttr::get(type, Attribute(number)));
  }
  Value map(Fn fn, ValueRange operands) { return nn::ElementwiseOp::create(b, loc, fn, operands); }

  /// Indices count from the end where they are negative.
  Value meets(int64_t row) {
    auto type = cast<RankedTensorType>(op.getIndices().getType());
    Type element = type.getElementType();
    Value fromFront = map(Fn::eq, {op.getIndices(), constant(element, row)});
    Value fromBack = map(Fn::eq, {op.getIndices(), constant(element, row - table.getDimSize(0))});
    Value either = map(Fn::logical_or, {fromFront, fromBack});
    SmallVector<int64_t> shape(type.getShape());
    shape.append(table.getRank() - 1, 1);
    auto beside = nn::Placement::of(type).place(RankedTensorType::get(shape, b.getI1Type()));
    return nn::ReshapeOp::create(b, loc, beside, either);
  }

  Value sumOf(int64_t row) {
    Value taken = map(Fn::select, {meets(row), op.getUpdates(), constant(table.getElementType(), 0)});
    auto axes =
        llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(op.getIndices().getType()).getRank()));
    Value sum = nn::ReduceOp::create(b, loc, nn::ReduceKind::sum, taken, axes);
    SmallVector<int64_t> line(table.getShape());
    line.front() = 1;
    auto placement = nn::Placement::of(sum.getType());
    return nn::ReshapeOp::create(b, loc, placement.place(RankedTensorType::get(line, table.getElementType())),
                                 sum);
  }

  nn::PlacedBuilder &b;
  nn::ScatterAddOp op;
  Location loc;
  RankedTensorType table;
};

bool isSmallTable(nn::ScatterAddOp op) {
  auto table = cast<RankedTensorType>(op.getType());
  return op.getAxis() == 0 && op.getBatchDims() == 0 && isa<FloatType>(table.getElementType()) &&
         table.getRank() > 1 && table.getDimSize(0) <= kFewTargets && table.getNumElements() > 0 &&
         cast<RankedTensorType>(op.getIndices().getType()).getRank() > 0;
}

struct SumFewTargets : impl::SumFewTargetsBase<SumFewTargets> {
  void runOnOperation() override {
    nn::PlacedBuilder builder(&getContext());
    SmallVector<nn::ScatterAddOp> found;
    getOperation()->walk([&](nn::ScatterAddOp op) {
      if (isSmallTable(op))
        found.push_back(op);
    });
    for (nn::ScatterAddOp op : found) {
      builder.setInsertionPoint(op);
      Value sum = TableSum(builder, op).build();
      op.getResult().replaceAllUsesWith(sum);
      op.erase();
    }
  }
};

} // namespace
} // namespace accum
