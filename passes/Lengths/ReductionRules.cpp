// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: along positions, what is after the end must be neutral.
#include "passes/Lengths/Site.h"

using namespace mlir;
using Kind = accum::nn::ReduceKind;

namespace accum::lengths {
namespace {

constexpr const char *kMaskIt =
    "mask it first: times the attention mask, or the lowest score where that is 0";

StringRef nounOf(Kind kind) {
  switch (kind) {
  case Kind::sum:
    return "the sum";
  case Kind::max:
    return "the maximum";
  case Kind::min:
    return "the minimum";
  case Kind::prod:
    return "the product";
  }
  llvm_unreachable("all kinds handled");
}

/// Further elements of this kind do not change the result.
bool isNeutral(Kind kind, const Fill &fill, const Facts &input, Type element) {
  switch (kind) {
  case Kind::sum:
    return fill.isNumber(0);
  case Kind::prod:
    return fill.isNumber(1);
  case Kind::max: // the first position is always there
    return fill.isLow() || (fill.kind == Fill::Kind::Number && input.least && *input.least >= fill.number);
  case Kind::min:
    return fill.isHigh() || (element.isInteger(1) && fill.isNumber(1));
  }
  llvm_unreachable("all kinds handled");
}

LogicalResult refuseOver(Site &site, const Twine &what, Value input, int64_t axis) {
  return site.refuse("takes " + what + " over the positions along axis " + Twine(axis) + " of " +
                         site.shape(input) + ", of which those after a sample's end are not masked",
                     kMaskIt);
}

/// Drops `axes`; the others move up.
void dropAxes(Facts &facts, ArrayRef<int64_t> axes) {
  llvm::erase_if(facts.axes, [&](const RaggedAxis &each) { return llvm::is_contained(axes, each.axis); });
  for (RaggedAxis &each : facts.axes)
    each.axis -= llvm::count_if(axes, [&](int64_t axis) { return axis < each.axis; });
}

/// What is left of a fill when elements of other axes are put together, `count` of them where that is known.
void reduceFills(Kind kind, Facts &facts, std::optional<int64_t> count) {
  for (RaggedAxis &axis : facts.axes) {
    std::optional<Fill> &fill = axis.fill;
    if (!fill || kind == Kind::max || kind == Kind::min)
      continue;
    bool isKept =
        fill->kind == Fill::Kind::Number && (kind == Kind::sum ? fill->number == 0 || count : false);
    if (!isKept) {
      fill.reset();
      continue;
    }
    fill->number *= fill->number == 0 ? 1 : *count;
    if (fill->before)
      fill->before = count ? std::optional(*fill->before * *count) : std::nullopt;
  }
}

/// The number of positions, if each counts one and nothing else is added.
std::optional<int64_t> lengthOf(nn::ReduceOp op, const Facts &input, Site &site) {
  bool isSum = op.getKind() == Kind::sum && input.axes.size() == 1;
  const RaggedAxis *axis = isSum ? &input.axes.front() : nullptr;
  if (!axis || !axis->fill || !axis->fill->isNumber(0) || axis->fill->before != 1.0)
    return std::nullopt;
  // Over the batch, a sum of lengths.
  auto input0 = cast<RankedTensorType>(op.getInput().getType());
  nn::Placement placement = nn::Placement::of(input0);
  int64_t others = 1;
  for (int64_t each : op.getAxes())
    others *= each == axis->axis ? 1 : input0.getDimSize(each);
  bool isPerSample = !placement.isBatched() || !llvm::is_contained(op.getAxes(), placement.dim);
  bool isOne = others == 1 && axis->isPlain();
  return isPerSample && isOne && llvm::is_contained(op.getAxes(), axis->axis)
             ? std::optional(axis->fill->from)
             : std::nullopt;
}

LogicalResult reduce(nn::ReduceOp op, Site &site, Results results) {
  Facts facts = *site.operands[0];
  std::optional<int64_t> length = lengthOf(op, facts, site);
  std::optional<int64_t> count = 1;
  // What holds for known rows alone tells nothing of a sum over the rows too.
  bool sumsRows =
      llvm::count_if(op.getAxes(), [&](int64_t axis) { return site.isRagged(op.getInput(), axis); }) > 1;
  for (int64_t axis : op.getAxes()) {
    if (!site.isRagged(op.getInput(), axis)) {
      count = count ? std::optional(*count * cast<RankedTensorType>(op.getInput().getType()).getDimSize(axis))
                    : std::nullopt;
      continue;
    }
    count = std::nullopt;
    std::optional<Fill> fill = site.fill(0, axis);
    const RaggedAxis *ragged = facts.along(axis);
    if (!fill || (sumsRows && !fill->isOfAll()) ||
        !isNeutral(op.getKind(), *fill, facts, elementOf(op.getInput())) ||
        failed(leaveOut(facts, *ragged, *fill)))
      return refuseOver(site, nounOf(op.getKind()), op.getInput(), axis);
  }
  bool isOpen = op.getKind() == Kind::max && llvm::any_of(op.getAxes(), [&](int64_t axis) {
                  return site.first(0, axis).isOrdinary() || facts.isOrdinary;
                });
  dropAxes(facts, op.getAxes());
  for (RaggedAxis &each : facts.axes)
    each.first = {};
  reduceFills(op.getKind(), facts, count);
  bool keeps = op.getKind() == Kind::max || op.getKind() == Kind::min;
  Facts &result = results[0];
  result.axes = facts.axes;
  result.isFinite = facts.isFinite;
  result.isOrdinary = facts.isOrdinary || isOpen;
  result.length = length ? length : keeps ? facts.length : std::nullopt;
  if (result.length == -1)
    result.below = 0;
  result.number = keeps ? facts.number : std::nullopt;
  if (facts.least && (keeps || *facts.least >= 0))
    result.least = keeps ? facts.least : std::optional(0.0);
  return success();
}

LogicalResult argReduce(nn::ArgReduceOp op, Site &site, Results results) {
  Facts facts = *site.operands[0];
  int64_t axis = op.getAxis();
  Facts &result = results[0];
  result.least = 0;
  if (site.isRagged(op.getInput(), axis)) {
    std::optional<Fill> fill = site.fill(0, axis);
    const RaggedAxis ragged = *facts.along(axis);
    if (!ragged.isPlain() || !fill || !isNeutral(op.getKind(), *fill, facts, elementOf(op.getInput())) ||
        failed(leaveOut(facts, ragged, *fill)))
      return refuseOver(site, "the index of " + nounOf(op.getKind()), op.getInput(), axis);
    // The first of them, and one before the end is among them.
    if (fill->isOfAll())
      result.below = std::max<int64_t>(fill->from, 0);
  }
  dropAxes(facts, axis);
  result.axes = facts.axes;
  for (RaggedAxis &each : result.axes) {
    each.fill.reset();
    each.first = {};
  }
  return success();
}

LogicalResult cumSum(nn::CumSumOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  int64_t axis = op.getAxis();
  result.isTable = false;
  result.number = std::nullopt;
  result.length = result.below = std::nullopt;
  result.diagonal = {};
  for (RaggedAxis &each : result.axes)
    each.first = {};
  result.least = !op.getLog() && result.least && *result.least >= 0 ? std::optional(0.0) : std::nullopt;
  // From the right, sums hold rows that come later, of which causal order hides less.
  for (RaggedAxis &each : result.axes)
    if (each.axis != axis &&
        (op.getLog() || !(each.fill && each.fill->isNumber(0) && (each.fill->isOfAll() || !op.getReverse()))))
      each.fill.reset();
    else if (each.fill)
      each.fill->before.reset();
  RaggedAxis *ragged = result.along(axis);
  if (!ragged)
    return success();
  std::optional<Fill> fill = site.fill(0, axis);
  bool endsInZeros =
      !op.getLog() && fill && fill->isNumber(0) && !fill->isCausal && fill->from <= ragged->end();
  if (!ragged->isPlain() || (op.getReverse() && !endsInZeros))
    return refuseOver(site, op.getReverse() ? "a running sum from the right" : "a running sum", op.getInput(),
                      axis);
  if (!op.getReverse())
    ragged->fill.reset(); // the sum of all before
  return success();
}

LogicalResult topK(nn::TopKOp op, Site &site, Results results) {
  if (site.isRagged(op.getInput(), op.getAxis()))
    return site.refuse("takes the largest positions along axis " + Twine(op.getAxis()) + " of " +
                           site.shape(op.getInput()) + ", of which a shorter sample has fewer",
                       "take the maximum, or select along features");
  for (Facts &result : results) {
    result.axes = site.operands[0]->axes;
    result.isFinite = site.operands[0]->isFinite;
    for (RaggedAxis &each : result.axes) {
      each.fill.reset();
      each.first = {};
    }
  }
  results[1].least = 0;
  return success();
}

} // namespace

void addReductionRules(RuleTable &table) {
  table.add<nn::ReduceOp, reduce>();
  table.add<nn::ArgReduceOp, argReduce>();
  table.add<nn::CumSumOp, cumSum>();
  table.add<nn::TopKOp, topK>();
}

} // namespace accum::lengths
