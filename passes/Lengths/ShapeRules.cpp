// SPDX-License-Identifier: Apache-2.0
// Data movement: where positions are afterwards, and what is after the end there.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// What holds of every element, whatever their order.
void keepElements(const Facts &from, Facts &to) {
  to.isFinite = from.isFinite;
  to.isTable = from.isTable;
  to.number = from.number;
  to.length = from.length;
  to.below = from.below;
  to.least = from.least;
  to.diagonal = from.diagonal;
}

/// Elements between the positions of one ragged axis and the next, in row-major order.
struct Factors {
  SmallVector<RaggedAxis> positions;
  SmallVector<int64_t> plain; ///< one more than positions
};

Factors factorsOf(Value value, const Facts &facts) {
  Factors factors{{}, {1}};
  for (auto [i, extent] : llvm::enumerate(shapeOf(value))) {
    const RaggedAxis *axis = facts.along(i);
    if (!axis) {
      factors.plain.back() *= extent;
      continue;
    }
    factors.plain.back() *= axis->outer;
    factors.positions.push_back(*axis);
    factors.plain.push_back(axis->inner);
  }
  return factors;
}

/// Positions of one axis, at the smallest size.
int64_t countOf(const RaggedAxis &axis, Site &site) { return site.sizes.sizes().front() + axis.shift; }

LogicalResult reshape(nn::ReshapeOp op, Site &site, Results results) {
  keepElements(*site.operands[0], results[0]);
  Factors factors = factorsOf(op.getInput(), *site.operands[0]);
  size_t next = 0;
  int64_t left = factors.plain[0];
  auto refuse = [&] {
    return site.refuse("reshapes " + site.shape(op.getInput()) + " to " + site.shape(op.getResult()) +
                           ", which puts positions into features",
                       "keep the positions an axis of their own");
  };
  for (auto [i, extent] : llvm::enumerate(shapeOf(op.getResult()))) {
    if (!site.isRagged(op.getResult(), i)) {
      if (extent == 0 || left % extent != 0)
        return refuse();
      left /= extent;
      continue;
    }
    if (next == factors.positions.size())
      return refuse();
    RaggedAxis axis = factors.positions[next++];
    int64_t block = left * countOf(axis, site);
    axis.axis = i;
    axis.outer = left;
    if (block == 0 || extent % block != 0 || factors.plain[next] % (extent / block) != 0)
      return refuse();
    axis.inner = extent / block;
    left = factors.plain[next] / axis.inner;
    results[0].axes.push_back(axis);
  }
  return success();
}

LogicalResult transpose(nn::TransposeOp op, Site &site, Results results) {
  results[0] = *site.operands[0];
  for (RaggedAxis &axis : results[0].axes)
    axis.axis = std::distance(op.getPerm().begin(), llvm::find(op.getPerm(), axis.axis));
  return success();
}

LogicalResult broadcast(nn::BroadcastOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  int64_t lead = rankOf(op.getResult()) - rankOf(op.getInput());
  for (RaggedAxis &axis : result.axes)
    axis.axis += lead;
  for (int64_t axis = 0; axis < rankOf(op.getResult()); ++axis)
    if (site.isRagged(op.getResult(), axis) && !result.along(axis))
      result.axes.push_back({.axis = axis, .known = kEverywhere});
  return success();
}

/// Positions counted from `start` on.
void shiftAxis(Facts &facts, RaggedAxis &axis, int64_t start) {
  axis.known = moved(axis.known, -start);
  if (start != 0)
    axis.first = facts.diagonal = {};
  // What is put in front is not filled, however short the sample is.
  if (axis.fill && start < 0)
    axis.fill->from = std::max<int64_t>(axis.fill->from, -1);
  if (axis.fill)
    axis.fill->from = moved(axis.fill->from, -start);
  // Its queries, in the other one's fill.
  RaggedAxis *other = facts.other(axis.axis);
  if (other && other->fill && other->fill->isCausal)
    other->fill->from = moved(other->fill->from, start);
}

/// Where an op takes elements from, or puts them, at each size: the same place counted from the left.
template <class Op, class Read> bool startsAlike(Op op, Site &site, Read read) {
  SmallVector<int64_t> starts;
  for (size_t size = 0; size < site.sizes.count(); ++size)
    if (Operation *there = site.sizes.opAt(op, size))
      starts.push_back(read(cast<Op>(there)));
  return llvm::all_equal(starts);
}

LogicalResult sliceAxis(nn::SliceOp op, Site &site, RaggedAxis axis, Facts &result) {
  int64_t start = op.getStarts()[axis.axis], extent = shapeOf(op.getResult())[axis.axis];
  auto readStart = [&](nn::SliceOp each) { return each.getStarts()[axis.axis]; };
  if (!startsAlike(op, site, readStart))
    return site.refuse("takes positions along axis " + Twine(axis.axis) + " of " + site.shape(op.getInput()) +
                           " that are counted from the padded end",
                       "count from the left, or gather at the sample's own length");
  bool stays = site.isRagged(op.getResult(), axis.axis);
  if (stays && axis.isPlain() && op.getStrides()[axis.axis] == 1) {
    shiftAxis(result, *result.along(axis.axis), start);
    return success();
  }
  llvm::erase_if(result.axes, [&](const RaggedAxis &each) { return each.axis == axis.axis; });
  int64_t last = start + (extent - 1) * op.getStrides()[axis.axis];
  // A sample has at least one position.
  bool isInside = axis.isPlain() && last < moved(1, axis.known >= kEverywhere ? kEverywhere : axis.known);
  if (axis.known >= kEverywhere || (!stays && isInside))
    return success();
  return site.refuse("takes " + std::string(stays ? "every other position" : "a fixed number of positions") +
                         " along axis " + Twine(axis.axis) + " of " + site.shape(op.getInput()) +
                         ", which a shorter sample does not have",
                     "take the first one, or mask what is read");
}

LogicalResult slice(nn::SliceOp op, Site &site, Results results) {
  Facts &result = results[0];
  keepElements(*site.operands[0], result);
  result.axes = site.operands[0]->axes;
  for (int64_t axis = 0; axis < rankOf(op.getInput()); ++axis) {
    if (const RaggedAxis *ragged = site.operands[0]->along(axis)) {
      if (failed(sliceAxis(op, site, *ragged, result)))
        return failure();
      continue;
    }
    if (!startsAlike(op, site, [&](nn::SliceOp each) { return each.getStarts()[axis]; }))
      return site.refuse("takes rows along axis " + Twine(axis) + " of " + site.shape(op.getInput()) +
                             " that are counted from the right",
                         "count positions from the left");
    // The beginning of a table of all positions.
    if (site.isRagged(op.getResult(), axis))
      result.axes.push_back({.axis = axis, .known = kEverywhere});
  }
  return success();
}

/// Numbers after the last position of a size: after the end of a shorter sample there is the axis's own
/// fill, so both must be one number for that to hold. The longest sample has them where a larger size goes
/// on.
void endWith(RaggedAxis &axis, std::optional<double> number) {
  bool isSame = axis.fill && number && axis.fill->isNumber(*number);
  if (!isSame || axis.fill->from > axis.shift)
    axis.known = std::min(axis.known, axis.shift);
  if (isSame)
    axis.fill->before.reset();
  else
    axis.fill.reset();
}

LogicalResult pad(nn::PadOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  std::optional<double> value = site.operands[1]->number;
  result.number = value && result.number == value ? value : std::nullopt;
  result.isFinite &= site.operands[1]->isFinite;
  result.isTable = false;
  result.length = result.below = std::nullopt;
  result.least = result.least && value ? std::optional(std::min(*result.least, *value)) : std::nullopt;
  for (int64_t axis = 0; axis < rankOf(op.getInput()); ++axis) {
    int64_t low = op.getLow()[axis];
    int64_t high = shapeOf(op.getResult())[axis] - shapeOf(op.getInput())[axis] - low;
    if (!startsAlike(op, site, [&](nn::PadOp each) { return each.getLow()[axis]; }))
      return site.refuse("pads axis " + Twine(axis) + " of " + site.shape(op.getInput()) +
                         " by a width that depends on the size");
    if (low == 0 && high == 0)
      continue;
    for (RaggedAxis &ragged : result.axes) {
      if (ragged.axis != axis) {
        if (ragged.fill && !(value && ragged.fill->isNumber(*value) && ragged.fill->isOfAll()))
          ragged.fill.reset();
        if (ragged.fill)
          ragged.fill->before.reset();
        ragged.first = result.diagonal = {};
        continue;
      }
      if (!ragged.isPlain() && (low != 0 || high != 0))
        return site.refuse("pads axis " + Twine(axis) + " of " + site.shape(op.getInput()) +
                           ", which holds positions and features");
      if (high != 0)
        endWith(ragged, value);
      if (ragged.fill)
        ragged.fill->before.reset();
      shiftAxis(result, ragged, -low);
    }
  }
  return success();
}

/// Operands of fixed extent before the one with the positions move them on; those after it end it.
LogicalResult concatPositions(nn::ConcatOp op, Site &site, Facts &result) {
  int64_t axis = op.getAxis(), lead = 0;
  std::optional<RaggedAxis> joined;
  for (auto [operand, value] : llvm::zip(site.operands, op.getInputs())) {
    const RaggedAxis *ragged = operand->along(axis);
    if (!ragged && joined)
      endWith(*joined, operand->number);
    if (!ragged && !joined)
      lead += shapeOf(value)[axis];
    if (!ragged)
      continue;
    if (joined && (lead != 0 || !(joined->inner == ragged->inner && joined->shift == ragged->shift)))
      return site.refuse("puts positions of several values one after the other along axis " + Twine(axis));
    if (joined) {
      joined->outer += ragged->outer;
      joined->known = std::min(joined->known, ragged->known);
      joined->fill.reset();
      joined->first = {};
      continue;
    }
    joined = *ragged;
  }
  if (!joined)
    return success();
  if (!joined->isPlain() && lead != 0)
    return site.refuse("puts rows before axis " + Twine(axis) + ", which holds positions and features");
  if (joined->fill)
    joined->fill->before.reset();
  result.axes.push_back(*joined);
  if (lead != 0)
    shiftAxis(result, *result.along(axis), -lead);
  return success();
}

LogicalResult concat(nn::ConcatOp op, Site &site, Results results) {
  Facts &result = results[0];
  int64_t axis = op.getAxis();
  SmallVector<Joined> joined;
  for (unsigned i = 0; i < site.operands.size(); ++i) {
    result.isFinite &= site.operands[i]->isFinite;
    joined.push_back({i, 0});
  }
  Facts all;
  bool growsAlong = site.isRagged(op.getResult(), axis);
  if (!growsAlong && failed(joinAxes(site, joined, all)))
    return failure();
  for (RaggedAxis ragged : all.axes) {
    std::optional<Fill> first = site.fill(0, ragged.axis);
    bool isSame = first && first->kind == Fill::Kind::Number;
    for (unsigned i = 1; isSame && i < joined.size(); ++i) {
      std::optional<Fill> fill = site.fill(i, ragged.axis);
      isSame = fill && fill->isNumber(first->number) && fill->isCausal == first->isCausal &&
               fill->isOfKnown == first->isOfKnown;
      if (isSame)
        first->from = std::max(first->from, fill->from);
    }
    if (isSame) {
      first->before.reset();
      ragged.fill = first;
    }
    result.axes.push_back(ragged);
  }
  if (!growsAlong)
    return success();
  // Along other axes all operands have what the first of them has.
  Facts others;
  for (unsigned i = 0; i < site.operands.size(); ++i)
    for (RaggedAxis ragged : site.operands[i]->axes) {
      if (ragged.axis == axis)
        continue;
      RaggedAxis *known = others.along(ragged.axis);
      if (known && !known->isAlignedWith(ragged))
        return site.refuse("puts values side by side whose positions lie in different orders");
      ragged.fill.reset();
      ragged.first = {};
      if (known)
        known->known = std::min(known->known, ragged.known);
      else
        others.axes.push_back(ragged);
    }
  result.axes.append(others.axes);
  return concatPositions(op, site, result);
}

} // namespace

void addShapeRules(RuleTable &table) {
  table.add<nn::ReshapeOp, reshape>();
  table.add<nn::TransposeOp, transpose>();
  table.add<nn::BroadcastOp, broadcast>();
  table.add<nn::SliceOp, slice>();
  table.add<nn::PadOp, pad>();
  table.add<nn::ConcatOp, concat>();
}

} // namespace accum::lengths
