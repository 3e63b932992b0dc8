// SPDX-License-Identifier: Apache-2.0
// Indexed reads: along positions, the index must be one that the sample has.
#include "dialects/NN/Boundary.h"
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

constexpr const char *kCountFromLeft = "count positions from the left, or from the sum of the attention mask";

/// How far a table of indices along its only axis runs ahead of that axis: index[i] <= i + ahead.
std::optional<int64_t> aheadOf(Site &site, unsigned operand) {
  const Facts &facts = *site.operands[operand];
  const Table *table =
      facts.isTable && facts.axes.size() == 1 ? site.tables.find(site.op->getOperand(operand)) : nullptr;
  if (!table)
    return std::nullopt;
  int64_t axis = facts.axes[0].axis, stride = 1, ahead = -kEverywhere;
  for (size_t i = table->shape.size(); static_cast<int64_t>(--i) > axis;)
    stride *= table->shape[i];
  for (auto [n, index] : llvm::enumerate(table->data)) {
    if (index < 0)
      return std::nullopt;
    int64_t position = static_cast<int64_t>(n) / stride % table->shape[axis];
    ahead = std::max(ahead, static_cast<int64_t>(index) - position);
  }
  return ahead;
}

/// Reads at an index along an axis of positions.
struct Read {
  bool isAllowed = false;
  /// The positions of the result that are known, along the index's own ragged axis.
  std::optional<int64_t> known;
};

Read readPositions(Site &site, unsigned operand, const RaggedAxis &axis) {
  const Facts &index = *site.operands[operand];
  bool isNatural = index.number ? *index.number >= 0 : index.least && *index.least >= 0;
  if (!axis.isPlain())
    return {};
  if (index.below && axis.known >= *index.below)
    return {true, {}};
  if (axis.known >= kEverywhere && isNatural)
    return {true, {}};
  if (index.number && isNatural)
    return {*index.number < moved(1, axis.known), {}};
  if (std::optional<int64_t> ahead = aheadOf(site, operand))
    return {true, moved(axis.known, -*ahead)};
  return {};
}

/// Of a gather along `axis`: how far its result is known at most, if that has positions. Refuses reads after
/// a sample's end.
LogicalResult findReadable(Site &site, Value input, int64_t axis, std::optional<int64_t> &readable) {
  const RaggedAxis *read = site.operands[0]->along(axis);
  if (!read)
    return success();
  Read how = readPositions(site, 1, *read);
  if (!how.isAllowed)
    return site.refuse("reads positions along axis " + Twine(axis) + " of " + site.shape(input) +
                           " at an index that may be after a sample's end, or counts from the padded end",
                       kCountFromLeft);
  readable = how.known;
  return success();
}

/// Adds an axis of the result, known where both sides are.
LogicalResult addAxis(Site &site, Facts &result, RaggedAxis axis) {
  RaggedAxis *known = result.along(axis.axis);
  if (!known) {
    result.axes.push_back(axis);
    return success();
  }
  if (!known->isAlignedWith(axis))
    return site.refuse("reads at an index whose positions lie in another order");
  known->known = std::min(known->known, axis.known);
  if (!known->fill)
    known->fill = axis.fill;
  return success();
}

/// Rows of one number stay that, whichever of them are read; of another axis.
std::optional<Fill> keptFill(const RaggedAxis &axis) {
  std::optional<Fill> fill = axis.fill;
  if (fill && !fill->isOfAll())
    fill.reset();
  return fill;
}

void keepNumbers(const Facts &input, const Facts &index, Facts &result) {
  result.isFinite = input.isFinite && index.isFinite;
  result.number = input.number;
  result.least = input.least;
}

LogicalResult gather(nn::GatherOp op, Site &site, Results results) {
  const Facts &input = *site.operands[0], &index = *site.operands[1];
  Facts &result = results[0];
  int64_t axis = op.getAxis(), batch = op.getBatchDims(), added = rankOf(op.getIndices()) - batch;
  keepNumbers(input, index, result);
  std::optional<int64_t> readable;
  if (failed(findReadable(site, op.getInput(), axis, readable)))
    return failure();
  for (RaggedAxis each : index.axes) {
    each.axis += each.axis < batch ? 0 : axis - batch;
    each.fill.reset();
    each.first = {};
    each.known = readable ? std::min(each.known, *readable) : each.known;
    if (failed(addAxis(site, result, each)))
      return failure();
  }
  for (RaggedAxis each : input.axes) {
    if (each.axis == axis)
      continue;
    each.axis += each.axis > axis ? added - 1 : 0;
    each.fill = keptFill(each);
    each.first = {};
    if (failed(addAxis(site, result, each)))
      return failure();
  }
  return success();
}

LogicalResult gatherElements(nn::GatherElementsOp op, Site &site, Results results) {
  const Facts &input = *site.operands[0], &index = *site.operands[1];
  Facts &result = results[0];
  int64_t axis = op.getAxis();
  keepNumbers(input, index, result);
  std::optional<int64_t> readable;
  if (failed(findReadable(site, op.getInput(), axis, readable)))
    return failure();
  for (RaggedAxis each : index.axes) {
    each.fill.reset();
    each.first = {};
    each.known = readable ? std::min(each.known, *readable) : each.known;
    result.axes.push_back(each);
  }
  for (RaggedAxis each : input.axes) {
    if (each.axis == axis)
      continue;
    each.fill = keptFill(each);
    each.first = {};
    if (failed(addAxis(site, result, each)))
      return failure();
  }
  return success();
}

/// Adds rows to a table at indices: what has positions must be zero after the end.
template <class Op> LogicalResult scatterAdd(Op op, Site &site, Results results) {
  bool enters = llvm::any_of(op->getUsers(), nn::isCut);
  for (const Facts *operand : site.operands)
    if (!operand->axes.empty() && enters)
      return site.refuseEntry(op.getUpdates());
    else if (!operand->axes.empty())
      return site.refuse("adds up values with positions by their index",
                         "select by a mask in place of writing at an index");
  results[0].isFinite = site.operands[1]->isFinite;
  return success();
}

} // namespace

void addGatherRules(RuleTable &table) {
  table.add<nn::GatherOp, gather>();
  table.add<nn::GatherElementsOp, gatherElements>();
  table.add<nn::ScatterAddOp, scatterAdd<nn::ScatterAddOp>>();
  table.add<nn::ScatterElementsAddOp, scatterAdd<nn::ScatterElementsAddOp>>();
}

} // namespace accum::lengths
