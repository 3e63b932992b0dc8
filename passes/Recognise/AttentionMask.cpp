// SPDX-License-Identifier: Apache-2.0
// Masks as conjunctions of conditions.
#include "passes/Recognise/AttentionMask.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Recognise/Terms.h"

using namespace mlir;

namespace accum::recognise {
using nn::ElementwiseFn;

bool hides(double number) { return number <= -1e30; }

static std::optional<bool> booleanOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !elements.getElementType().isInteger(1))
    return std::nullopt;
  return elements.getSplatValue<bool>();
}

static bool isFloat(Value value) {
  return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
}

/// X and F of (X + F) == 0, where X is a hiding term and F a whole number far from as large: 0 only where
/// both are.
static std::optional<std::pair<Visibility, Value>> bothZero(Value condition) {
  auto equal = definedBy(condition, ElementwiseFn::eq);
  auto sum = equal && constantOf(equal.getOperands()[1]) == 0.0
                 ? definedBy(equal.getOperands()[0], ElementwiseFn::add)
                 : nn::ElementwiseOp();
  for (unsigned i = 0; sum && i < 2; ++i) {
    auto cast = sum.getOperands()[i].getDefiningOp<nn::CastOp>();
    auto term = cast && !isFloat(cast.getInput()) ? hidingTermOf(sum.getOperands()[1 - i]) : std::nullopt;
    if (term && term->visible.notAll.empty())
      return std::pair(term->visible, cast.getInput());
  }
  return std::nullopt;
}

void Visibility::require(Value condition, bool negated) {
  auto op = condition.getDefiningOp<nn::ElementwiseOp>();
  if (op && op.getFn() == ElementwiseFn::logical_not)
    return require(op.getOperands()[0], !negated);
  if (op && op.getFn() == (negated ? ElementwiseFn::logical_or : ElementwiseFn::logical_and)) {
    require(op.getOperands()[0], negated);
    return require(op.getOperands()[1], negated);
  }
  if (booleanOf(condition) == !negated)
    return;
  auto zero = bothZero(condition);
  if (!zero) {
    all.push_back({condition, negated});
    return;
  }
  SmallVector<Condition> parts = zero->first.all;
  parts.push_back({zero->second, true});
  if (negated)
    notAll.push_back(parts);
  else
    all.append(parts);
}

bool Visibility::resolve() {
  for (SmallVector<Condition> &parts : notAll) {
    llvm::erase_if(parts, [&](const Condition &part) { return llvm::is_contained(all, part); });
    if (parts.size() != 1)
      return false;
    all.push_back({parts[0].value, !parts[0].negated});
  }
  notAll.clear();
  return true;
}

/// Counts along the axis that stands `back` from the end, and nowhere else.
static bool isCount(Value value, int64_t back) {
  auto iota = value.getDefiningOp<nn::IotaOp>();
  if (!iota)
    return false;
  ArrayRef<int64_t> shape = shapeOf(value);
  auto axis = static_cast<int64_t>(shape.size()) - back;
  return static_cast<int64_t>(iota.getDim()) == axis &&
         ShapedType::getNumElements(shape) == shape[static_cast<size_t>(axis)];
}

/// A table of lower triangles.
static bool isTriangle(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  ArrayRef<int64_t> shape = shapeOf(value);
  if (!elements || !elements.getElementType().isInteger(1) || shape.size() < 2)
    return false;
  int64_t keys = shape.back(), queries = shape[shape.size() - 2];
  for (auto [i, shown] : llvm::enumerate(elements.getValues<bool>())) {
    auto at = static_cast<int64_t>(i);
    if (shown != (at % keys <= at / keys % queries))
      return false;
  }
  return true;
}

/// key <= query, in one of its four forms.
static bool isCausal(const Condition &condition) {
  auto op = condition.value.getDefiningOp<nn::ElementwiseOp>();
  if (!op || op.getOperands().size() != 2)
    return !condition.negated && isTriangle(condition.value);
  Value a = op.getOperands()[0], b = op.getOperands()[1];
  switch (op.getFn()) {
  case ElementwiseFn::le:
    return !condition.negated && isCount(a, 1) && isCount(b, 2);
  case ElementwiseFn::ge:
    return !condition.negated && isCount(a, 2) && isCount(b, 1);
  case ElementwiseFn::gt:
    return condition.negated && isCount(a, 1) && isCount(b, 2);
  case ElementwiseFn::lt:
    return condition.negated && isCount(a, 2) && isCount(b, 1);
  default:
    return false;
  }
}

bool Visibility::takeCausal() {
  size_t before = all.size();
  llvm::erase_if(all, isCausal);
  return all.size() != before;
}

/// Of values that broadcast against each other, with the batch where one of them has it.
static RankedTensorType broadcastType(Type element, ArrayRef<int64_t> shape, ValueRange operands) {
  SmallVector<int64_t> batch;
  for (Value operand : operands) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (auto extent = dyn_cast_or_null<nn::ExtentAttr>(type.getEncoding()))
      for (int64_t dim : extent.getDims())
        batch.push_back(dim + static_cast<int64_t>(shape.size()) - type.getRank());
  }
  llvm::sort(batch);
  batch.erase(llvm::unique(batch), batch.end());
  Attribute encoding = batch.empty() ? Attribute() : nn::ExtentAttr::get(element.getContext(), batch);
  return RankedTensorType::get(shape, element, encoding);
}

static RankedTensorType booleans(PatternRewriter &rewriter, ArrayRef<int64_t> shape, ValueRange operands) {
  return broadcastType(rewriter.getI1Type(), shape, operands);
}

Value sumOf(PatternRewriter &rewriter, Value a, Value b) {
  auto shape = nn::broadcastShapes({a.getType(), b.getType()});
  Type type = broadcastType(cast<RankedTensorType>(a.getType()).getElementType(), *shape, {a, b});
  return nn::ElementwiseOp::create(rewriter, a.getLoc(), type, ElementwiseFn::add, ValueRange{a, b});
}

Value Visibility::build(PatternRewriter &rewriter, Location location) const {
  Value result;
  for (const Condition &condition : all) {
    Value value = condition.value;
    auto type = booleans(rewriter, shapeOf(value), value);
    if (value.getType() != type)
      value = nn::CastOp::create(rewriter, location, type, value);
    if (condition.negated)
      value =
          nn::ElementwiseOp::create(rewriter, location, type, ElementwiseFn::logical_not, ValueRange{value});
    if (result) {
      auto shape = nn::broadcastShapes({result.getType(), value.getType()});
      result = nn::ElementwiseOp::create(rewriter, location, booleans(rewriter, *shape, {result, value}),
                                         ElementwiseFn::logical_and, ValueRange{result, value});
    } else {
      result = value;
    }
  }
  return result;
}

/// The term with one more condition.
static std::optional<HidingTerm> narrowed(std::optional<HidingTerm> term, double hidden, Value condition,
                                          bool negated) {
  if (!term || term->hidden != hidden)
    return std::nullopt;
  term->visible.require(condition, negated);
  return term;
}

std::optional<HidingTerm> hidingTermOf(Value value) {
  auto select = definedBy(value, ElementwiseFn::select);
  if (!select)
    return std::nullopt;
  Value condition = select.getOperands()[0];
  for (unsigned hidden : {1, 2}) {
    std::optional<double> low = constantOf(select.getOperands()[hidden]);
    if (!low || !hides(*low))
      continue;
    bool negated = hidden == 1; // hidden where the condition holds
    Value other = select.getOperands()[3 - hidden];
    auto cast = condition.getDefiningOp<nn::CastOp>();
    bool isZeroThere =
        negated && cast && cast.getInput() == other; // low where `other` is not 0, else `other`
    if (!isZeroThere && constantOf(other) != 0.0)
      return narrowed(hidingTermOf(other), *low, condition, negated);
    HidingTerm term;
    term.hidden = *low;
    term.visible.require(condition, negated);
    return term;
  }
  return std::nullopt;
}

bool dependsOnTrained(Value value) {
  SmallVector<Value> stack = {value};
  DenseSet<Operation *> seen;
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto load = dyn_cast<train::LoadParamOp>(op)) {
      auto param = SymbolTable::lookupNearestSymbolFrom<train::ParamOp>(op, load.getParamAttr());
      if (!param || param.getTrained())
        return true;
    }
    stack.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

} // namespace accum::recognise
