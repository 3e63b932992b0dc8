// SPDX-License-Identifier: Apache-2.0
// What rules share.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {

LogicalResult Site::refuse(const Twine &why, StringRef out) {
  sentence = why.str();
  wayOut = out.str();
  return failure();
}

LogicalResult Site::refuseEntry(Value value) {
  return refuse("makes a value of shape " + shape(value) +
                    " that enters where samples meet with all of its positions",
                "pool the positions of a sample first: a mean under the attention mask, or the first token");
}

std::optional<Fill> Site::fill(unsigned operand, int64_t axis) const {
  const Facts &facts = *operands[operand];
  if (facts.number)
    return Fill{.number = *facts.number, .from = -kEverywhere, .before = facts.number};
  const RaggedAxis *ragged = facts.along(axis);
  if (ragged && ragged->fill)
    return ragged->fill;
  const RaggedAxis *other = ragged && facts.isTable ? facts.other(axis) : nullptr;
  if (!other || !other->isPlain() || !ragged->isPlain())
    return std::nullopt;
  return tables.causalFill(op->getOperand(operand), axis, other->axis);
}

First Site::first(unsigned operand, int64_t axis) const {
  const Facts &facts = *operands[operand];
  const RaggedAxis *ragged = facts.along(axis);
  if (facts.number)
    return First::of(*facts.number);
  // A sample has a position, so that one is before the end.
  if (ragged && ragged->fill && !ragged->fill->isCausal && ragged->fill->from >= 0 && ragged->fill->before)
    return First::of(*ragged->fill->before);
  if (ragged && ragged->first.kind == First::Kind::Number)
    return ragged->first;
  if (facts.isOrdinary && !(ragged && facts.isTable))
    return {First::Kind::Ordinary};
  std::optional<double> number =
      ragged && facts.isTable ? tables.firstNumber(op->getOperand(operand), axis) : std::nullopt;
  if (number)
    return First::of(*number);
  return facts.isOrdinary ? First{First::Kind::Ordinary} : ragged ? ragged->first : First();
}

First Site::diagonal(unsigned operand, int64_t axis, int64_t other) const {
  const Facts &facts = *operands[operand];
  const RaggedAxis *axes[] = {facts.along(axis), facts.along(other)};
  if (facts.number)
    return First::of(*facts.number);
  for (const RaggedAxis *each : axes)
    if (each && each->fill && !each->fill->isCausal && each->fill->from >= 0 && each->fill->before)
      return First::of(*each->fill->before);
  if (axes[0] && axes[1] && facts.diagonal.kind == First::Kind::Number)
    return facts.diagonal;
  bool isSquare = axes[0] && axes[1] && facts.isTable && axes[0]->isPlain() && axes[1]->isPlain();
  std::optional<double> number =
      isSquare ? tables.diagonalNumber(op->getOperand(operand), axis, other) : std::nullopt;
  if (number)
    return First::of(*number);
  return facts.isOrdinary ? First{First::Kind::Ordinary} : axes[0] && axes[1] ? facts.diagonal : First();
}

std::string Site::shape(Value value) const {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape()))
    text += (i ? ", " : "") + std::to_string(extent);
  return text + "]";
}

Rule findRule(StringRef name) {
  static const RuleTable table = [] {
    RuleTable all;
    addAccumulationRules(all);
    addAttentionRules(all);
    addContractionRules(all);
    addElementwiseRules(all);
    addSourceRules(all);
    addGatherRules(all);
    addNormRules(all);
    addReductionRules(all);
    addShapeRules(all);
    return all;
  }();
  return table.find(name);
}

LogicalResult joinAxes(Site &site, ArrayRef<Joined> operands, Facts &result) {
  for (const Joined &joined : operands)
    for (RaggedAxis axis : site.operands[joined.operand]->axes) {
      axis.axis += joined.offset;
      axis.fill.reset();
      axis.first = {};
      RaggedAxis *known = result.along(axis.axis);
      if (!known) {
        result.axes.push_back(axis);
        continue;
      }
      if (!known->isAlignedWith(axis))
        return site.refuse("lines up two values whose positions lie in different orders along axis " +
                           Twine(axis.axis));
      known->known = std::min(known->known, axis.known);
    }
  return success();
}

bool opensRows(Facts &facts, int64_t axis, const First &first, const First &diagonal) {
  if (first.isOrdinary())
    return true;
  RaggedAxis *rows = facts.other(axis);
  if (!rows || !diagonal.isOrdinary() || facts.along(axis)->shift < 0)
    return false;
  rows->known = std::min<int64_t>(rows->known, 0);
  return true;
}

LogicalResult leaveOut(Facts &facts, const RaggedAxis &axis, const Fill &fill) {
  if (!fill.isCausal)
    return success(fill.from <= axis.end());
  RaggedAxis *other = facts.other(axis.axis);
  if (!other)
    return failure();
  // Query q hides what is after q + from: all from the end on, where q < length + end - from.
  other->known = std::min(other->known, moved(axis.end(), -fill.from));
  return success();
}

} // namespace accum::lengths
