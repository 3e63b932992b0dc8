// SPDX-License-Identifier: Apache-2.0
// Finds the outputs of values of pairs, and computes them in tiles.
#include "passes/Differentiate/TileMeeting.h"
#include "dialects/NN/Boundary.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Identities.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accum {

static RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Of a reshape: axes that share elements with those of the input.
static uint32_t axesOfSamples(nn::ReshapeOp op, uint32_t input) {
  ArrayRef<int64_t> from = tensorTypeOf(op.getInput()).getShape(), to = tensorTypeOf(op).getShape();
  uint32_t axes = 0;
  int64_t outer = 1; // elements before an axis
  for (size_t axis = 0; axis < to.size(); outer *= to[axis++]) {
    int64_t before = 1;
    for (size_t source = 0; source < from.size(); before *= from[source++])
      if ((input >> source & 1) && before < outer * to[axis] && before * from[source] > outer)
        axes |= uint32_t{1} << axis;
  }
  return axes;
}

/// The axes of a result along which an operand's samples lie. What works along such an axis (a softmax) keeps
/// it.
static uint32_t axesOfSamples(OpResult result, const DenseMap<Value, uint32_t> &known) {
  Operation *op = result.getOwner();
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return axesOfSamples(reshape, known.lookup(reshape.getInput()));
  uint32_t axes = 0;
  for (int64_t axis = 0; axis < tensorTypeOf(result).getRank(); ++axis) {
    int64_t extent = tensorTypeOf(result).getDimSize(axis);
    auto ranges = operandRanges(op, {axis, 0, extent});
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      std::optional<int64_t> source;
      if (failed(ranges) && tensorTypeOf(operand).getRank() == tensorTypeOf(result).getRank())
        source = axis;
      else if (succeeded(ranges) && (*ranges)[i])
        source = (*ranges)[i]->axis;
      if (source && extent > 1 && (known.lookup(operand) >> *source & 1))
        axes |= uint32_t{1} << axis;
    }
  }
  return axes;
}

/// What enters is one row a sample, and so is what is computed from it along these rows.
void MeetingTiles::findPairs(int64_t batch) {
  for (Operation &op : *block)
    for (OpResult result : op.getResults()) {
      int64_t elements = tensorTypeOf(result).getNumElements();
      uint32_t axes = axesOfSamples(result, sampleAxes);
      bool enters = nn::isBoundary(&op) && isa<BlockArgument>(op.getOperand(0));
      if (enters && tensorTypeOf(result).getRank() > 0 && tensorTypeOf(result).getDimSize(0) == batch)
        axes = 1;
      sampleAxes[result] = axes;
      bool isHeavy = llvm::any_of(op.getOperands(), [&](Value v) { return heavy.contains(v); });
      if (llvm::popcount(axes) > 1 && elements >= batch * batch)
        pairs.insert(result);
      if (isHeavy || pairs.contains(result))
        heavy.insert(result);
      else if (axes == 0 && elements >= batch * batch)
        wide.insert(result);
    }
}

/// Whether an op computes a part of `value` from parts, all of which there are.
bool MeetingTiles::hasPart(Value value, Range range) const {
  Operation *op = value.getDefiningOp();
  if (!op || !(heavy.contains(value) || wide.contains(value)))
    return false;
  std::tuple key(value, range.axis, range.start, range.size);
  if (auto it = parts.find(key); it != parts.end())
    return it->second;
  auto ranges = operandRanges(op, range);
  bool good = succeeded(ranges) && llvm::all_of(llvm::zip(op->getOperands(), *ranges), [&](auto each) {
                auto [operand, part] = each;
                return part ? fits(operand, *part) : !heavy.contains(operand);
              });
  return parts[key] = good;
}

/// What does not depend on pairs can be cut.
bool MeetingTiles::fits(Value value, Range range) const {
  return !heavy.contains(value) || hasPart(value, range);
}

size_t MeetingTiles::tilesOf(int64_t extent) const { return llvm::divideCeil(extent, rows); }

Range MeetingTiles::rangeOf(int64_t extent, size_t tile, int64_t axis) const {
  int64_t start = static_cast<int64_t>(tile) * rows;
  return {axis, start, std::min(rows, extent - start)};
}

/// Whether an axis of samples is long, and `value` has parts along it.
bool MeetingTiles::hasTiles(Value value, int64_t axis) const {
  int64_t extent = tensorTypeOf(value).getDimSize(axis);
  if (!(sampleAxes.lookup(value) >> axis & 1) || extent < 2 * rows)
    return false;
  for (size_t number = 0; number < tilesOf(extent); ++number)
    if (!fits(value, rangeOf(extent, number, axis)))
      return false;
  return true;
}

void MeetingTiles::addOutput(Value value, bool isSum, int64_t axis, int64_t extent) {
  auto *family = llvm::find_if(families, [&](const Family &each) { return each.extent == extent; });
  if (family == families.end()) {
    families.push_back({extent, {}, {}});
    family = &families.back();
  }
  family->outputs.push_back({value, isSum, axis, {}});
}

/// A sum over an axis of samples is a sum of terms.
bool MeetingTiles::settleSum(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  if (!reduce || reduce.getKind() != nn::ReduceKind::sum)
    return false;
  Value input = reduce.getInput();
  for (int64_t axis : reduce.getAxes())
    if (hasTiles(input, axis)) {
      addOutput(reduce.getResult(), /*isSum=*/true, axis, tensorTypeOf(input).getDimSize(axis));
      return true;
    }
  return false;
}

/// A value of each sample, of which each tile has some.
bool MeetingTiles::settleRows(Value value) {
  for (int64_t axis = 0; axis < tensorTypeOf(value).getRank(); ++axis)
    if (hasTiles(value, axis)) {
      addOutput(value, /*isSum=*/false, axis, tensorTypeOf(value).getDimSize(axis));
      return true;
    }
  return false;
}

/// Whether `value` can be there as a whole without any pairs that are.
bool MeetingTiles::settle(Value value) {
  if (!heavy.contains(value))
    return true;
  if (auto it = settled.find(value); it != settled.end())
    return it->second;
  bool good = false;
  if (!pairs.contains(value)) {
    Operation *op = value.getDefiningOp();
    good = settleSum(op);
    if (!good && llvm::all_of(op->getOperands(), [&](Value v) { return settle(v); })) {
      after.insert(op); // behind those of its operands
      good = true;
    }
    good = good || settleRows(value);
  }
  return settled[value] = good;
}

/// Builds the parts of one tile, each once.
struct MeetingTiles::PartBuilder {
  PartBuilder(const MeetingTiles &graph, OpBuilder &builder, Tile &tile, bool again)
      : graph(graph), builder(builder), tile(tile), again(again) {}

  Value part(Value value, Range range) {
    std::tuple key(value, range.axis, range.start, range.size);
    if (Value found = known.lookup(key))
      return found;
    Value made = graph.hasPart(value, range) ? compute(value, range) : cut(value, range);
    return known[key] = made;
  }

  Value cut(Value value, Range range) {
    Operation *op = cutPart(builder, value, range);
    if (again)
      op->setAttr(nn::againAttr, builder.getUnitAttr());
    tile.cuts.push_back({value, range, op->getResult(0)});
    return op->getResult(0);
  }

  Value compute(Value value, Range range) {
    Operation *op = value.getDefiningOp();
    OperandRanges ranges = *operandRanges(op, range);
    SmallVector<Value> operands;
    for (auto [operand, own] : llvm::zip_equal(op->getOperands(), ranges))
      operands.push_back(own ? part(operand, *own) : operand);
    Operation *made = buildPart(builder, op, range, operands);
    tile.ops.push_back(made);
    for (auto [result, computed] : llvm::zip(op->getResults(), made->getResults()))
      known[{result, range.axis, range.start, range.size}] = computed;
    return known[{value, range.axis, range.start, range.size}];
  }

  Value term(nn::ReduceOp sum, Range range) {
    Operation *made = sum->clone();
    made->setOperand(0, part(sum.getInput(), range));
    tile.ops.push_back(builder.insert(made));
    return made->getResult(0);
  }

  const MeetingTiles &graph;
  OpBuilder &builder;
  Tile &tile;
  bool again; ///< CSE must not find what another pass of the tile computes
  DenseMap<std::tuple<Value, int64_t, int64_t, int64_t>, Value> known;
};

MeetingTiles::Tile MeetingTiles::buildTile(OpBuilder &builder, const Family &family, size_t number,
                                           bool again) const {
  Tile tile;
  PartBuilder parts(*this, builder, tile, again);
  for (const Output &output : family.outputs) {
    Range range = rangeOf(family.extent, number, output.axis);
    auto sum = output.value.getDefiningOp<nn::ReduceOp>();
    tile.outputs.push_back(output.isSum ? parts.term(sum, range) : parts.part(output.value, range));
  }
  tile.last = &*std::prev(builder.getInsertionPoint());
  return tile;
}

void MeetingTiles::buildFamily(OpBuilder &builder, Family &family) {
  for (size_t number = 0; number < tilesOf(family.extent); ++number)
    family.tiles.push_back(buildTile(builder, family, number, /*again=*/false));
  for (auto [i, output] : llvm::enumerate(family.outputs)) {
    SmallVector<Value> terms;
    for (const Tile &tile : family.tiles)
      terms.push_back(tile.outputs[i]);
    Location loc = output.value.getLoc();
    if (output.isSum) {
      output.combined = terms.front();
      for (Value term : ArrayRef<Value>(terms).drop_front())
        output.combined = nn::ElementwiseOp::create(
            builder, loc, TypeRange{output.value.getType()},
            nn::ElementwiseFnAttr::get(builder.getContext(), nn::ElementwiseFn::add),
            ValueRange{output.combined, term});
    } else {
      output.combined = nn::ConcatOp::create(builder, loc, output.value.getType(), terms, output.axis);
    }
  }
}

Value MeetingTiles::build(Block &where, Value loss, int64_t batch, int64_t rowsOfTile) {
  block = &where;
  rows = rowsOfTile;
  if (batch >= 2 * rows) {
    expandIdentities(where, batch * batch);
    findPairs(batch);
  }
  if (pairs.empty() || !settle(loss)) {
    families.clear();
    return loss;
  }
  SmallVector<Operation *> graph;
  for (Operation &op : *block)
    (llvm::any_of(op.getResults(), [&](Value v) { return heavy.contains(v); }) ? graph : before)
        .push_back(&op);
  // Nothing reads these any more but those after the tiles; parts are made by them.
  for (Operation *op : graph)
    op->moveBefore(block, block->end());
  OpBuilder builder(graph.front());
  for (Family &family : families)
    buildFamily(builder, family);
  for (auto it = before.empty() ? block->begin() : std::next(before.back()->getIterator());
       &*it != graph.front(); ++it)
    made.insert(&*it);
  for (Family &family : families)
    for (Output &output : family.outputs) {
      output.value.replaceUsesWithIf(output.combined,
                                     [&](OpOperand &use) { return after.contains(use.getOwner()); });
      loss = loss == output.value ? output.combined : loss;
    }
  return loss;
}

/// What a trained parameter reaches of what was made.
static void spreadActive(ArrayRef<Operation *> ops, DenseSet<Value> &active) {
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (isa<FloatType>(tensorTypeOf(result).getElementType()) &&
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

  /// Rows one behind the other; zeros where no tile has read.
  Value join(const Rows &each) {
    Location loc = each.whole.getLoc();
    RankedTensorType type = tensorTypeOf(each.whole);
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
