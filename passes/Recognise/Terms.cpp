// SPDX-License-Identifier: Apache-2.0
// Products as sets, sums with constants, reductions over rows.
#include "passes/Recognise/Terms.h"
#include <cmath>

using namespace mlir;

namespace accum::recognise {
using nn::ElementwiseFn;

std::optional<double> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<nn::ReshapeOp, nn::BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// With so many bits of mantissa.
static double rounded(double number, int bits) {
  int exponent = 0;
  double mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

bool isNear(double a, double b) {
  constexpr int bf16 = 8, half = 11;
  return std::abs(a - b) <= 2e-6 * std::abs(b) || a == rounded(b, bf16) || a == rounded(b, half);
}

nn::ElementwiseOp definedBy(Value value, ElementwiseFn fn) {
  auto op = value ? value.getDefiningOp<nn::ElementwiseOp>() : nn::ElementwiseOp();
  return op && op.getFn() == fn ? op : nn::ElementwiseOp();
}

Value argumentOf(Value value, ElementwiseFn fn) {
  auto op = definedBy(value, fn);
  return op ? op.getOperands()[0] : Value();
}

/// The exponent of a power that is a product of a few factors.
static int64_t smallPower(nn::ElementwiseOp op) {
  std::optional<double> exponent = constantOf(op.getOperands()[1]);
  return exponent && (*exponent == 2 || *exponent == 3) ? static_cast<int64_t>(*exponent) : 0;
}

static void multiply(Product &product, Value value, ArrayRef<Value> whole, int depth) {
  constexpr int maxDepth = 8; // deeper products are none of ours
  auto op = value.getDefiningOp<nn::ElementwiseOp>();
  if (std::optional<double> constant = constantOf(value)) {
    product.constant *= *constant;
    return;
  }
  ElementwiseFn fn = op ? op.getFn() : ElementwiseFn::abs;
  bool isWhole = !op || depth == maxDepth || llvm::is_contained(whole, value);
  if (!isWhole && fn == ElementwiseFn::mul) {
    multiply(product, op.getOperands()[0], whole, depth + 1);
    return multiply(product, op.getOperands()[1], whole, depth + 1);
  }
  if (!isWhole && fn == ElementwiseFn::neg) {
    product.constant = -product.constant;
    return multiply(product, op.getOperands()[0], whole, depth + 1);
  }
  std::optional<double> divisor;
  if (!isWhole && fn == ElementwiseFn::div)
    divisor = constantOf(op.getOperands()[1]);
  if (divisor) {
    product.constant /= *divisor;
    return multiply(product, op.getOperands()[0], whole, depth + 1);
  }
  int64_t power = !isWhole && fn == ElementwiseFn::pow ? smallPower(op) : 0;
  for (int64_t i = 0; i < power; ++i)
    multiply(product, op.getOperands()[0], whole, depth + 1);
  if (power == 0)
    product.factors.push_back(value);
}

Product productOf(Value value, ArrayRef<Value> whole) {
  Product product;
  multiply(product, value, whole, 0);
  return product;
}

std::optional<std::pair<Value, double>> sumWithConstant(Value value) {
  auto sum = definedBy(value, ElementwiseFn::add);
  for (int i = 0; sum && i < 2; ++i)
    if (std::optional<double> constant = constantOf(sum.getOperands()[i]))
      return std::pair(sum.getOperands()[1 - i], *constant);
  return std::nullopt;
}

Value withoutAdded(Value value, double constant) {
  auto sum = sumWithConstant(value);
  return sum && sum->second == constant ? sum->first : Value();
}

Value complementOf(Value value) {
  auto difference = definedBy(value, ElementwiseFn::sub);
  if (difference && constantOf(difference.getOperands()[0]) == 1.0)
    return difference.getOperands()[1];
  return argumentOf(withoutAdded(value, 1), ElementwiseFn::neg);
}

Value Replacement::apply(Type type, ElementwiseFn fn, ValueRange operands) const {
  return nn::ElementwiseOp::create(rewriter, location, type, fn, operands);
}

Value Replacement::number(Type like, double value) const {
  Type element = cast<RankedTensorType>(like).getElementType();
  auto type = RankedTensorType::get({}, element);
  auto splat = DenseElementsAttr::get(type, rewriter.getFloatAttr(element, value));
  return nn::ConstantOp::create(rewriter, location, type, splat);
}

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

ArrayRef<int64_t> batchAxesOf(Value value) {
  auto extent = dyn_cast_or_null<nn::ExtentAttr>(cast<RankedTensorType>(value.getType()).getEncoding());
  return extent ? extent.getDims() : ArrayRef<int64_t>();
}

bool isBatchedFrom(Value value, int64_t first) {
  return llvm::any_of(batchAxesOf(value), [&](int64_t dim) { return dim >= first; });
}

/// Trailing axes of the reduction's input, all of them static.
static bool isOverRows(nn::ReduceOp reduce) {
  int64_t rank = static_cast<int64_t>(shapeOf(reduce.getInput()).size());
  int64_t first = rank - static_cast<int64_t>(reduce.getAxes().size());
  for (auto [i, axis] : llvm::enumerate(reduce.getAxes()))
    if (axis != first + static_cast<int64_t>(i))
      return false;
  return !isBatchedFrom(reduce.getInput(), first);
}

/// A reduction that broadcasts against its input: extents 1 where it reduced, samples where the input has
/// them.
static bool isKept(Value value, Value input, int64_t axis) {
  SmallVector<int64_t> kept(shapeOf(input));
  std::fill(kept.begin() + axis, kept.end(), 1);
  return shapeOf(value) == ArrayRef(kept) && batchAxesOf(value) == batchAxesOf(input);
}

std::optional<RowReduction> rowReduction(Value value, nn::ReduceKind kind) {
  RowReduction result;
  Value at = value;
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    if (auto reshape = at.getDefiningOp<nn::ReshapeOp>()) {
      at = reshape.getInput();
      isMoving = true;
    }
    Product scaled = productOf(at);
    if (scaled.factors.size() == 1 && scaled.factors[0] != at) {
      result.factor *= scaled.constant;
      at = scaled.factors[0];
      isMoving = true;
    }
  }
  auto reduce = at.getDefiningOp<nn::ReduceOp>();
  if (!reduce || reduce.getKind() != kind || !isOverRows(reduce))
    return std::nullopt;
  result.input = reduce.getInput();
  result.axis = static_cast<int64_t>(shapeOf(result.input).size() - reduce.getAxes().size());
  result.statistics = reduce.getType();
  return isKept(value, result.input, result.axis) ? std::optional(result) : std::nullopt;
}

std::optional<RowReduction> rowMean(Value value) {
  auto sum = rowReduction(value, nn::ReduceKind::sum);
  if (!sum)
    return std::nullopt;
  double count = 1;
  for (int64_t extent : shapeOf(sum->input).drop_front(sum->axis))
    count *= static_cast<double>(extent);
  return isNear(sum->factor * count, 1) ? sum : std::nullopt;
}

std::optional<SafeSoftmax> safeSoftmax(Value value) {
  auto guard = definedBy(value, ElementwiseFn::select);
  auto softmax = guard ? guard.getOperands()[2].getDefiningOp<nn::SoftmaxOp>() : nn::SoftmaxOp();
  if (!softmax || softmax.getLog() || constantOf(guard.getOperands()[1]) != 0.0)
    return std::nullopt;
  auto replaced = definedBy(softmax.getInput(), ElementwiseFn::select);
  auto isDead = definedBy(guard.getOperands()[0], ElementwiseFn::eq);
  if (!replaced || !isDead || replaced.getOperands()[0] != guard.getOperands()[0] ||
      constantOf(replaced.getOperands()[1]) != 0.0)
    return std::nullopt;
  Value scores = replaced.getOperands()[2];
  auto top = rowReduction(isDead.getOperands()[0], nn::ReduceKind::max);
  std::optional<double> lowest = constantOf(isDead.getOperands()[1]);
  if (!top || top->input != scores || !lowest || !std::isinf(*lowest))
    return std::nullopt;
  return SafeSoftmax{softmax, scores};
}

int64_t mergedAxes(nn::ReshapeOp reshape) {
  ArrayRef<int64_t> from = shapeOf(reshape.getInput()), to = shapeOf(reshape.getResult());
  if (from.size() <= to.size() || to.empty())
    return 0;
  auto merged = static_cast<int64_t>(from.size() - to.size()) + 1;
  SmallVector<int64_t> batch;
  for (int64_t dim : batchAxesOf(reshape.getInput()))
    batch.push_back(std::max<int64_t>(dim - merged + 1, 0));
  bool isOnlyMerge =
      from.drop_front(merged) == to.drop_front(1) && batchAxesOf(reshape.getResult()) == ArrayRef(batch);
  return isOnlyMerge ? merged : 0;
}

} // namespace accum::recognise
