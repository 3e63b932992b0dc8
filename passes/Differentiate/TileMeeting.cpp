// SPDX-License-Identifier: Apache-2.0
// Finds the outputs of values of pairs, and computes them in tiles.
#include "passes/Differentiate/TileMeeting.h"
#include "dialects/NN/Boundary.h"
#include "dialects/NN/NNDialect.h"
#include "passes/Differentiate/Identities.h"

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
      after.insert(op); // after those of its operands
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

} // namespace accum
