// SPDX-License-Identifier: Apache-2.0
// Back through tiles of pairs, one at a time.
#include "dialects/NN/Boundary.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/TileMeeting.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accum {

/// What a trained parameter reaches of what was made.
static void spreadActive(ArrayRef<Operation *> ops, DenseSet<Value> &active) {
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isa<FloatType>(cast<RankedTensorType>(result.getType()).getElementType()) &&
          llvm::any_of(op->getOperands(), [&](Value v) { return active.contains(v); }))
        active.insert(result);
}

/// Whether something that tiles compute is needed for `values`. `needed`: what is.
bool MeetingTiles::dependOnTiles(ArrayRef<Value> values, DenseSet<Operation *> &needed) const {
  SmallVector<Operation *> stack;
  auto push = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && needed.insert(op).second)
      stack.push_back(op);
  };
  llvm::for_each(values, push);
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    if (made.contains(op))
      return true;
    llvm::for_each(op->getOperands(), push);
  }
  return false;
}

/// Cotangents of what enters the tiles, over all of them.
struct MeetingTiles::Gathered {
  explicit Gathered(OpBuilder &builder) : builder(builder) {}

  /// One more term, to what the tiles before have added. A command of its own: kernels that add all terms
  /// would keep them all.
  void add(Value value, Value term) {
    Value &sum = sums[value];
    if (!sum) {
      sum = term;
      return;
    }
    auto op =
        nn::ElementwiseOp::create(builder, value.getLoc(), nn::ElementwiseFn::add, ValueRange{sum, term});
    op->setAttr(nn::runningSumAttr, builder.getUnitAttr());
    sum = op;
  }

  /// What each tile says of the rows that it cut.
  void addRows(size_t cut, Value whole, Range range, Value term) {
    Rows &each = rows[cut];
    each.whole = whole;
    each.range = {range.axis, each.terms.empty() ? range.start : each.range.start,
                  each.terms.empty() ? range.size : each.range.size + range.size};
    each.terms.push_back(term);
  }

  void giveTo(Backward &backward) {
    for (auto [value, sum] : sums)
      backward.seed(value, sum);
    for (auto &[cut, each] : rows)
      backward.seed(each.whole, join(each));
  }

private:
  struct Rows {
    Value whole;
    Range range;
    SmallVector<Value> terms;
  };

  /// Rows one after the other; zeros where no tile has read.
  Value join(const Rows &each) {
    Location loc = each.whole.getLoc();
    auto type = cast<RankedTensorType>(each.whole.getType());
    Value joined = nn::ConcatOp::create(builder, loc, each.terms, each.range.axis);
    if (each.range.size == type.getDimSize(each.range.axis))
      return joined;
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value zero = nn::ConstantOp::create(
        builder, loc, nn::Placement::replicated().place(scalar),
        DenseElementsAttr::get(scalar, Attribute(builder.getFloatAttr(type.getElementType(), 0))));
    SmallVector<int64_t> low(type.getRank(), 0);
    low[each.range.axis] = each.range.start;
    return nn::PadOp::create(builder, loc, type, joined, zero, low);
  }

  OpBuilder &builder;
  llvm::MapVector<Value, Value> sums;
  llvm::MapVector<size_t, Rows> rows;
};

/// Back through one tile, from its terms of the outputs.
LogicalResult MeetingTiles::visitTile(const Tile &tile, Backward &backward, Gathered &gathered) {
  llvm::SetVector<Value> inputs;
  DenseSet<Value> own;
  for (const Cut &cut : tile.cuts)
    own.insert(cut.part);
  for (Operation *op : tile.ops) {
    for (Value operand : op->getOperands())
      if (!own.contains(operand))
        inputs.insert(operand);
    own.insert_range(op->getResults());
  }
  for (Operation *op : llvm::reverse(tile.ops))
    if (failed(backward.visit(op)))
      return failure();
  for (auto [i, cut] : llvm::enumerate(tile.cuts))
    if (Value term = backward.sumOf(cut.part))
      gathered.addRows(i, cut.whole, cut.range, term);
  for (Value input : inputs)
    if (Value term = backward.sumOf(input))
      gathered.add(input, term);
  return success();
}

LogicalResult MeetingTiles::differentiate(Family &family, Backward &backward, OpBuilder &builder,
                                          DenseSet<Value> &active) {
  SmallVector<Value> cotangents, known;
  for (const Output &output : family.outputs)
    cotangents.push_back(backward.sumOf(output.combined));
  llvm::copy_if(cotangents, std::back_inserter(known), [](Value value) { return static_cast<bool>(value); });
  DenseSet<Operation *> needed;
  bool again = dependOnTiles(known, needed);
  Operation *first = made.front();
  if (!again)
    for (Operation &op : llvm::make_early_inc_range(llvm::make_range(first->getIterator(), block->end())))
      if (needed.contains(&op))
        op.moveBefore(first);
  Gathered gathered(builder);
  for (size_t number = 0; number < family.tiles.size(); ++number) {
    Tile tile = family.tiles[number];
    if (again) {
      OpBuilder plain = OpBuilder::atBlockEnd(block);
      tile = buildTile(plain, family, number, /*again=*/true);
      for (const Cut &cut : tile.cuts)
        spreadActive(cut.part.getDefiningOp(), active);
      spreadActive(tile.ops, active);
    } else {
      builder.setInsertionPointAfter(tile.last);
    }
    Backward each(builder, active);
    for (auto [output, cotangent, own] : llvm::zip_equal(family.outputs, cotangents, tile.outputs))
      if (cotangent && active.contains(own))
        each.seed(
            own,
            output.isSum
                ? cotangent
                : cutPart(builder, cotangent, rangeOf(family.extent, number, output.axis))->getResult(0));
    if (failed(visitTile(tile, each, gathered)))
      return failure();
    builder.setInsertionPointToEnd(block);
  }
  gathered.giveTo(backward);
  return success();
}

LogicalResult MeetingTiles::differentiate(Backward &backward, OpBuilder &builder, DenseSet<Value> &active) {
  auto visit = [&](Operation *op) {
    bool isReached = llvm::any_of(op->getResults(), [&](Value v) { return active.contains(v); });
    return isReached ? backward.visit(op) : success();
  };
  if (families.empty())
    return backward.visitAll(*block);
  spreadActive(made.getArrayRef(), active);
  for (Operation *op : llvm::reverse(after))
    if (failed(visit(op)))
      return failure();
  for (Family &family : llvm::reverse(families))
    if (failed(differentiate(family, backward, builder, active)))
      return failure();
  for (Operation *op : llvm::reverse(before))
    if (failed(visit(op)))
      return failure();
  return success();
}

} // namespace accum
