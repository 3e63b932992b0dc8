// SPDX-License-Identifier: Apache-2.0
// Row normalisations and losses: along features they keep positions apart.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

void dropFills(Facts &facts) {
  for (RaggedAxis &each : facts.axes) {
    each.fill.reset();
    each.first = {};
  }
}

/// eq(max(scores), -inf) of each row.
bool asksIfHidden(Value condition, Value scores, int64_t axis) {
  auto equal = condition.getDefiningOp<nn::ElementwiseOp>();
  if (!equal || equal.getFn() != nn::ElementwiseFn::eq)
    return false;
  auto infinity = equal.getOperands()[1].getDefiningOp<nn::ConstantOp>();
  std::vector<double> number = infinity ? elementsOf(infinity.getValue()) : std::vector<double>();
  Value largest = equal.getOperands()[0];
  while (auto reshape = largest.getDefiningOp<nn::ReshapeOp>())
    largest = reshape.getInput();
  auto reduce = largest.getDefiningOp<nn::ReduceOp>();
  return number.size() == 1 && std::isinf(number[0]) && number[0] < 0 && reduce &&
         reduce.getKind() == nn::ReduceKind::max && reduce.getInput() == scores &&
         reduce.getAxes() == ArrayRef<int64_t>{axis};
}

/// select(eq(max(scores), -inf), number, scores): no row of them is -inf throughout, if nothing is as high as
/// inf.
bool replacesHiddenRows(nn::SoftmaxOp op, Site &site) {
  auto select = op.getInput().getDefiningOp<nn::ElementwiseOp>();
  if (!select || select.getFn() != nn::ElementwiseFn::select || !site.operands[0]->isCapped)
    return false;
  auto instead = select.getOperands()[1].getDefiningOp<nn::ConstantOp>();
  return instead && llvm::all_of(elementsOf(instead.getValue()), [](double x) { return std::isfinite(x); }) &&
         asksIfHidden(select.getOperands()[0], select.getOperands()[2], op.getAxis());
}

LogicalResult softmax(nn::SoftmaxOp op, Site &site, Results results) {
  int64_t axis = op.getAxis();
  Facts facts = *site.operands[0];
  Facts &result = results[0];
  // Rows in which every score is -inf have no weights.
  bool hasOpenRows = !op.getLog() && site.first(0, axis).isOrdinary();
  result.isFinite = facts.isFinite || hasOpenRows || (!op.getLog() && replacesHiddenRows(op, site));
  if (const RaggedAxis *ragged = facts.along(axis)) {
    std::optional<Fill> fill = site.fill(0, axis);
    RaggedAxis weights = *ragged;
    // A row in which all is hidden would be equal weights of as many positions as the size has.
    const RaggedAxis *rows = facts.other(axis);
    First diagonal = rows ? site.diagonal(0, axis, rows->axis) : First();
    bool isOpen = opensRows(facts, axis, site.first(0, axis), diagonal);
    if (!fill || !fill->isLow() || !isOpen || failed(leaveOut(facts, weights, *fill)))
      return site.refuse("takes the softmax over the positions along axis " + Twine(axis) + " of " +
                             site.shape(op.getInput()) +
                             ", of which those after a sample's end are not masked",
                         "add the lowest score where the attention mask is 0, or use causal attention");
    weights.fill = fill;
    if (!op.getLog())
      weights.fill->kind = Fill::Kind::Number;
    weights.fill->number = op.getLog() ? fill->number : 0;
    weights.fill->before.reset();
    weights.fill->isOfKnown |= !fill->isCausal && !site.first(0, axis).isOrdinary();
    *facts.along(axis) = weights;
  }
  for (RaggedAxis &each : facts.axes) {
    each.first = {};
    if (each.axis != axis)
      each.fill.reset();
  }
  result.axes = facts.axes;
  return success();
}

/// Rows along the axes from `axis` on.
LogicalResult normalise(Site &site, Value input, int64_t axis, Results results) {
  for (const RaggedAxis &each : site.operands[0]->axes)
    if (each.axis >= axis)
      return site.refuse("normalises " + site.shape(input) + " over the positions along axis " +
                             Twine(each.axis) + ", of which those after a sample's end are not masked",
                         "normalise over features");
  for (const Facts *operand : ArrayRef(site.operands).drop_front())
    if (!operand->axes.empty())
      return site.refuse("scales features by a value that has positions");
  for (Facts &result : results) {
    result.axes = site.operands[0]->axes;
    result.isFinite = site.operands[0]->isFinite;
    dropFills(result);
  }
  return success();
}

LogicalResult layerNorm(nn::LayerNormOp op, Site &site, Results results) {
  return normalise(site, op.getInput(), op.getAxis(), results);
}

LogicalResult rmsNorm(nn::RmsNormOp op, Site &site, Results results) {
  return normalise(site, op.getInput(), op.getAxis(), results);
}

/// Rows with the ignored label have no loss.
LogicalResult crossEntropy(nn::CrossEntropyOp op, Site &site, Results results) {
  const Facts &labels = *site.operands[1];
  if (site.operands[0]->along(rankOf(op.getLogits()) - 1))
    return site.refuse("takes the softmax over the positions in the last axis of " +
                           site.shape(op.getLogits()),
                       "mask the scores: add the lowest one where the attention mask is 0");
  if (failed(joinAxes(site, {{0, 0}, {1, 0}}, results[0])))
    return failure();
  for (Facts &result : results)
    result.isFinite = site.operands[0]->isFinite;
  results[1].axes = results[0].axes;
  std::optional<int64_t> ignored = op.getIgnoreIndex();
  for (RaggedAxis &axis : results[0].axes) {
    std::optional<Fill> fill = labels.number ? std::nullopt : site.fill(1, axis.axis);
    if (!ignored || !fill || !fill->isNumber(static_cast<double>(*ignored)) || !fill->isOfAll())
      continue;
    axis.fill = Fill{.from = fill->from};
  }
  results[0].least = 0;
  return success();
}

/// What only a derivative has, and what no forward graph needs along positions.
template <class Op> LogicalResult withoutPositions(Op op, Site &site, Results results) {
  for (const Facts *operand : site.operands)
    if (!operand->axes.empty())
      return site.refuse("has no rule for values with positions");
  return success();
}

} // namespace

void addNormRules(RuleTable &table) {
  table.add<nn::SoftmaxOp, softmax>();
  table.add<nn::LayerNormOp, layerNorm>();
  table.add<nn::RmsNormOp, rmsNorm>();
  table.add<nn::CrossEntropyOp, crossEntropy>();
  table.add<nn::CrossEntropyGradOp, withoutPositions<nn::CrossEntropyGradOp>>();
  table.add<nn::AttentionBwdOp, withoutPositions<nn::AttentionBwdOp>>();
}

} // namespace accum::lengths
