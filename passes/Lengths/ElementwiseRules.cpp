// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: what is after the end of their results.
#include "passes/Lengths/Site.h"
#include "passes/Lengths/Term.h"
#include <cmath>

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::lengths {
namespace {

/// Fills of the operands along one axis of the result; none where there is no such axis, or nothing known.
SmallVector<std::optional<Fill>> fillsAlong(nn::ElementwiseOp op, Site &site, int64_t axis) {
  SmallVector<std::optional<Fill>> fills;
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    fills.push_back(site.fill(i, axis - (rankOf(op.getResult()) - rankOf(operand))));
  return fills;
}

/// What the result is where the operands in `used`, and those that are numbers everywhere, are at their
/// fills.
std::optional<Fill> combine(nn::ElementwiseOp op, Site &site, ArrayRef<std::optional<Fill>> fills,
                            function_ref<bool(unsigned)> used) {
  SmallVector<Term> terms, before;
  Fill result;
  result.from = -kEverywhere;
  bool isFirst = true;
  for (auto [i, fill] : llvm::enumerate(fills)) {
    const Facts &facts = *site.operands[i];
    Term any{.isFinite = facts.isFinite, .isOrdinary = facts.isOrdinary, .isCapped = facts.isCapped};
    bool isNumber = facts.number.has_value();
    if (!fill || (!isNumber && !used(i))) {
      terms.push_back(any);
      before.push_back(any);
      continue;
    }
    terms.push_back(Term::of(*fill));
    before.push_back(fill->before ? Term::of(*fill->before) : any);
    if (isNumber)
      continue;
    if (!isFirst && result.isCausal != fill->isCausal)
      return std::nullopt;
    if (!isFirst && result.from != fill->from)
      for (Term &each : before)
        each = Term();
    result.isCausal = fill->isCausal;
    result.isOfKnown |= fill->isOfKnown;
    result.from = std::max(result.from, fill->from);
    isFirst = false;
  }
  Type element = elementOf(op.getOperands().back());
  Term after = apply(op.getFn(), terms, element), inside = apply(op.getFn(), before, element);
  if (after.isUnknown() || isFirst)
    return std::nullopt;
  result.kind = after.kind == Term::Kind::Number ? Fill::Kind::Number
                : after.kind == Term::Kind::Low  ? Fill::Kind::Low
                                                 : Fill::Kind::High;
  result.number = after.number;
  if (inside.kind == Term::Kind::Number)
    result.before = inside.number;
  return result;
}

/// The one that holds at more positions; of all rows before that of some, and with what is before it.
bool isBetter(const Fill &a, const Fill &b) {
  auto rank = [](const Fill &fill) {
    return std::tuple(fill.isCausal, fill.isOfKnown, fill.from, !fill.before);
  };
  return rank(a) < rank(b);
}

/// At one place: a number, or one of ordinary size. read: of an operand there, which lacks that many leading
/// axes.
First placeOf(nn::ElementwiseOp op, function_ref<First(unsigned operand, int64_t lead)> read) {
  SmallVector<First> firsts;
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    firsts.push_back(read(i, rankOf(op.getResult()) - rankOf(operand)));
  auto isNumber = [](const First &first) { return first.kind == First::Kind::Number; };
  if (op.getFn() == Fn::select && isNumber(firsts[0]))
    return firsts[firsts[0].number != 0 ? 1 : 2];
  if (llvm::all_of(firsts, isNumber)) {
    auto numbers = llvm::map_to_vector(firsts, [](const First &first) { return first.number; });
    std::optional<double> y = apply(op.getFn(), numbers, elementOf(op.getOperands().back()));
    if (y && !std::isnan(*y))
      return First::of(*y);
  }
  bool isOrdinary = llvm::all_of(firsts, [](const First &first) {
    return first.isOrdinary() && (first.kind == First::Kind::Ordinary || first.number < -kLow);
  });
  return {isOrdinary ? First::Kind::Ordinary : First::Kind::Unknown};
}

void fillResult(nn::ElementwiseOp op, Site &site, Facts &result) {
  if (result.axes.size() == 2)
    result.diagonal = placeOf(op, [&](unsigned i, int64_t lead) {
      return site.diagonal(i, result.axes[0].axis - lead, result.axes[1].axis - lead);
    });
  for (RaggedAxis &axis : result.axes) {
    axis.first = placeOf(op, [&](unsigned i, int64_t lead) { return site.first(i, axis.axis - lead); });
    auto fills = fillsAlong(op, site, axis.axis);
    auto consider = [&](std::optional<Fill> fill) {
      if (fill && (!axis.fill || isBetter(*fill, *axis.fill)))
        axis.fill = fill;
    };
    consider(combine(op, site, fills, [](unsigned) { return true; }));
    for (unsigned alone = 0; alone < fills.size(); ++alone)
      consider(combine(op, site, fills, [&](unsigned i) { return i == alone; }));
    // The condition of a select together with the branch that it takes there.
    for (unsigned branch = 1; op.getFn() == Fn::select && branch < 3; ++branch)
      consider(combine(op, site, fills, [&](unsigned i) { return i != branch; }));
  }
}

/// A whole number that a length plus it is exact with, whatever the type: no score that hides.
bool isCounted(const Facts &facts) {
  constexpr double kMost = 1 << 20;
  return facts.number && std::abs(*facts.number) <= kMost && *facts.number == std::floor(*facts.number);
}

/// Positions and lengths under sums with numbers.
void countResult(Fn fn, const Facts &a, const Facts &b, Facts &result) {
  bool adds = fn == Fn::add || fn == Fn::sub;
  if (adds && isCounted(b)) {
    auto by = static_cast<int64_t>(fn == Fn::add ? *b.number : -*b.number);
    if (a.length)
      result.length = *a.length + by;
    if (a.below && by >= 0)
      result.below = *a.below + by;
  }
  if (fn == Fn::add && isCounted(a) && !isCounted(b))
    return countResult(fn, b, a, result);
  if (fn == Fn::max && isCounted(b) && *b.number >= 0) {
    auto least = static_cast<int64_t>(*b.number);
    if (a.length)
      result.below = std::max(*a.length + 1, least);
    else if (a.below)
      result.below = std::max(*a.below, least);
  }
  if (result.length == -1)
    result.below = 0; // a sample has a position
}

/// The maximum of a number and NaN may be the number.
std::optional<double> leastOfMax(ArrayRef<const Facts *> x) {
  std::optional<double> least;
  for (const Facts *each : x)
    if (auto own = each->number ? each->number : each->least; own && each->isFinite)
      least = std::max(least.value_or(*own), *own);
  return least;
}

std::optional<double> leastOf(Fn fn, ArrayRef<const Facts *> x) {
  auto least = [&](unsigned i) { return x[i]->number ? x[i]->number : x[i]->least; };
  auto isNatural = [&](unsigned i) { return least(i) && *least(i) >= 0; };
  switch (fn) {
  case Fn::abs:
  case Fn::relu:
  case Fn::exp:
  case Fn::sigmoid:
  case Fn::sqrt:
    return 0;
  case Fn::add:
    return least(0) && least(1) ? std::optional(*least(0) + *least(1)) : std::nullopt;
  case Fn::sub:
    return least(0) && x[1]->number ? std::optional(*least(0) - *x[1]->number) : std::nullopt;
  case Fn::mul:
    return isNatural(0) && isNatural(1) ? std::optional(0.0) : std::nullopt;
  case Fn::max:
    return leastOfMax(x);
  case Fn::min:
    return least(0) && least(1) ? std::optional(std::min(*least(0), *least(1))) : std::nullopt;
  case Fn::mod:
    return x[1]->number && *x[1]->number > 0 ? std::optional(0.0) : std::nullopt;
  case Fn::select:
    return least(1) && least(2) ? std::optional(std::min(*least(1), *least(2))) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<double> decidedNumber(nn::ElementwiseOp op, ArrayRef<const Facts *> x) {
  SmallVector<double> numbers;
  for (const Facts *each : x)
    if (each->number)
      numbers.push_back(*each->number);
  if (numbers.size() == x.size()) {
    std::optional<double> y = apply(op.getFn(), numbers, elementOf(op.getOperands().back()));
    return y && !std::isnan(*y) ? y : std::nullopt;
  }
  if (op.getFn() == Fn::mul)
    for (unsigned i : {0, 1})
      if (x[i]->number == 0.0 && (x[1 - i]->wrong || x[1 - i]->isFinite))
        return 0;
  // Nothing ordinary is as low as what hides.
  bool isLow = x.size() == 2 && x[1]->number && *x[1]->number <= kLow && x[0]->isOrdinary;
  if (isLow && (op.getFn() == Fn::eq || op.getFn() == Fn::le || op.getFn() == Fn::lt))
    return 0;
  // An index that is negative nowhere.
  if (x.size() == 2 && x[0]->least && x[1]->number && *x[0]->least >= *x[1]->number) {
    if (op.getFn() == Fn::lt)
      return 0;
    if (op.getFn() == Fn::ge)
      return 1;
  }
  return std::nullopt;
}

/// A select whose condition is one number is what it takes.
void takeBranch(nn::ElementwiseOp op, Site &site, Facts &result) {
  std::optional<double> condition =
      op.getFn() == Fn::select ? site.operands[0]->number : std::optional<double>();
  if (!condition)
    return;
  const Facts &taken = *site.operands[*condition != 0 ? 1 : 2];
  result.length = taken.length;
  result.below = taken.below;
  result.least = taken.least;
  result.isFinite = taken.isFinite;
}

/// select(is_nan(x), 0, x) is finite.
bool replacesNaN(nn::ElementwiseOp op, Site &site) {
  if (op.getFn() != Fn::select)
    return false;
  auto condition = op.getOperands()[0].getDefiningOp<nn::ElementwiseOp>();
  return condition && condition.getFn() == Fn::is_nan && condition.getOperands()[0] == op.getOperands()[2] &&
         site.operands[1]->isFinite;
}

LogicalResult elementwise(nn::ElementwiseOp op, Site &site, Results results) {
  Facts &result = results[0];
  SmallVector<Joined> joined;
  bool isDecided = op.getFn() == Fn::select && site.operands[0]->number;
  unsigned leftOut = isDecided ? (*site.operands[0]->number != 0 ? 2 : 1) : ~0u;
  result.isTable = true;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    result.isTable &= site.operands[i]->isTable;
    result.isFinite &= site.operands[i]->isFinite;
    if (i != leftOut || !site.operands[i]->wrong)
      joined.push_back({static_cast<unsigned>(i), rankOf(op.getResult()) - rankOf(operand)});
  }
  if (failed(joinAxes(site, joined, result)))
    return failure();
  result.number = decidedNumber(op, site.operands);
  if (!result.isTable)
    fillResult(op, site, result);
  if (site.operands.size() == 2)
    countResult(op.getFn(), *site.operands[0], *site.operands[1], result);
  result.least = leastOf(op.getFn(), site.operands);
  takeBranch(op, site, result);
  bool isBit = elementOf(op.getResult()).isInteger(1);
  if (isBit)
    result.least = 0;
  result.isFinite |= isBit || replacesNaN(op, site);
  return success();
}

LogicalResult cast(nn::CastOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  Type to = elementOf(op.getResult());
  auto converted = [&](double x) {
    return to.isInteger(1)      ? static_cast<double>(x != 0)
           : isa<FloatType>(to) ? rounded(x, to)
                                : std::trunc(x);
  };
  if (result.diagonal.kind == First::Kind::Number)
    result.diagonal.number = converted(result.diagonal.number);
  for (RaggedAxis &axis : result.axes) {
    if (axis.first.kind == First::Kind::Number)
      axis.first.number = converted(axis.first.number);
    if (!axis.fill)
      continue;
    if (axis.fill->kind != Fill::Kind::Number) {
      if (!isa<FloatType>(to))
        axis.fill.reset();
      continue;
    }
    axis.fill->number = converted(axis.fill->number);
    if (axis.fill->before)
      axis.fill->before = converted(*axis.fill->before);
  }
  if (result.number)
    result.number = converted(*result.number);
  if (result.least)
    result.least = std::trunc(*result.least) - (*result.least < 0 ? 1 : 0);
  if (to.isInteger(1)) {
    result.least = 0;
    result.length = result.below = std::nullopt;
  }
  return success();
}

/// What is dropped is a matter of the position alone.
LogicalResult dropout(nn::DropoutOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  result.isTable = false;
  result.number = result.least = std::nullopt;
  result.length = result.below = std::nullopt;
  auto dropped = [](const First &first) -> First {
    return {first.isOrdinary() ? First::Kind::Ordinary : First::Kind::Unknown};
  };
  result.diagonal = dropped(result.diagonal);
  for (RaggedAxis &axis : result.axes)
    axis.first = dropped(axis.first);
  for (RaggedAxis &axis : result.axes)
    if (axis.fill && !axis.fill->isNumber(0))
      axis.fill.reset();
    else if (axis.fill)
      axis.fill->before.reset();
  return success();
}

} // namespace

void addElementwiseRules(RuleTable &table) {
  table.add<nn::ElementwiseOp, elementwise>();
  table.add<nn::CastOp, cast>();
  table.add<nn::DropoutOp, dropout>();
}

} // namespace accum::lengths
