// SPDX-License-Identifier: Apache-2.0
// Norms and standard deviations: what PyTorch has as one function, whose derivative at zero is zero, and
// exporters write as the root of a sum, whose derivative there is infinite.
#include "compiler/Import/rules/Roots.h"
#include "compiler/Import/lost/TracedCall.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;
using nn::ReduceKind;

namespace {
enum class Said { Function, Root, Nothing };

nn::ElementwiseOp definedBy(Value value, ElementwiseFn fn) {
  auto op = value ? value.getDefiningOp<nn::ElementwiseOp>() : nn::ElementwiseOp();
  return op && op.getFn() == fn ? op : nn::ElementwiseOp();
}

bool isConstant(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<nn::ReshapeOp, nn::BroadcastOp, nn::CastOp>(op))
      return isa<nn::ConstantOp>(op);
    value = op->getOperand(0);
  }
  return false;
}

/// The value without changes of shape and products with constants.
Value unscaled(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto scale = dyn_cast<nn::ElementwiseOp>(op);
    bool isProduct = scale && scale.getFn() == ElementwiseFn::mul;
    bool isQuotient = scale && scale.getFn() == ElementwiseFn::div;
    if (isa<nn::ReshapeOp, nn::BroadcastOp>(op) ||
        ((isProduct || isQuotient) && isConstant(op->getOperand(1))))
      value = op->getOperand(0);
    else if (isProduct && isConstant(op->getOperand(0)))
      value = op->getOperand(1);
    else
      break;
  }
  return value;
}

nn::ReduceOp sumUnder(Value value) {
  auto sum = unscaled(value).getDefiningOp<nn::ReduceOp>();
  return sum && sum.getKind() == ReduceKind::sum ? sum : nn::ReduceOp();
}

bool isOverBatch(nn::ReduceOp sum) {
  Shape shape = shapeOf(sum.getInput());
  return llvm::any_of(sum.getAxes(), [&](int64_t axis) { return shape[axis].batched; });
}

Value underSquare(Value value) {
  auto square = definedBy(value, ElementwiseFn::mul);
  return square && square.getOperand(0) == square.getOperand(1) ? square.getOperand(0) : Value();
}

/// The sum of squares of x - mean(x) that a variance is made of, and x.
std::pair<nn::ReduceOp, Value> varianceOf(Value value) {
  nn::ReduceOp sum = sumUnder(value);
  auto difference = sum ? definedBy(underSquare(sum.getInput()), ElementwiseFn::sub) : nn::ElementwiseOp();
  nn::ReduceOp mean = difference ? sumUnder(difference.getOperand(1)) : nn::ReduceOp();
  bool isOwn = mean && mean.getInput() == difference.getOperand(0) && mean.getAxes() == sum.getAxes();
  if (!isOwn || isOverBatch(sum))
    return {};
  return {sum, mean.getInput()};
}

bool mentions(std::string_view code, std::initializer_list<std::string_view> words) {
  return llvm::any_of(words,
                      [&](std::string_view word) { return code.find(word) != std::string_view::npos; });
}

/// Exporters replace torch.std by a variance and its root before they write what was called: then the line of
/// source tells.
Said saidOfDeviation(const Node &node) {
  std::optional<TracedCall> call = TracedCall::of(node);
  std::string code = sourceCode(node);
  if ((call && call->target.starts_with("aten.std")) || mentions(code, {"std(", "std_mean("}))
    return Said::Function;
  return mentions(code, {"sqrt", "**", "pow(", ".var(", "var_mean("}) ? Said::Root : Said::Nothing;
}

/// Where x is the same along a row. Its mean may be off by a last digit, and the variance not quite zero.
Value constantRows(Emitter &emit, Value variance, nn::ReduceOp sum, Value x) {
  Value zero = emit.scalar(elementTypeOf(x), 0);
  Value vanishes = emit.elementwise(ElementwiseFn::eq, {variance, zero});
  Value range = emit.sub(emit.reduce(ReduceKind::max, x, sum.getAxes()),
                         emit.reduce(ReduceKind::min, x, sum.getAxes()));
  if (volumeOf(shapeOf(range)) == volumeOf(shapeOf(variance)))
    vanishes = emit.elementwise(
        ElementwiseFn::logical_or,
        {vanishes, emit.elementwise(ElementwiseFn::eq, {emit.reshape(range, shapeOf(variance)), zero})});
  return vanishes;
}

/// fn(sum) where it does not vanish, else 0, and no derivative.
Value whereNot(Emitter &emit, Value vanishes, Value sum, llvm::function_ref<Value(Value)> fn) {
  Value zero = emit.scalar(elementTypeOf(sum), 0), one = emit.scalar(elementTypeOf(sum), 1);
  return emit.select(vanishes, zero, fn(emit.select(vanishes, one, sum)));
}

/// A sum of |x|^p, where a cube is a product of three, or of squares.
bool isSumOfPowers(nn::ReduceOp sum) {
  auto power = definedBy(sum.getInput(), ElementwiseFn::pow),
       cube = definedBy(sum.getInput(), ElementwiseFn::mul);
  bool isCube = cube && underSquare(cube.getOperand(0)) == cube.getOperand(1);
  Value base = isCube ? cube.getOperand(1) : power ? power.getOperand(0) : Value();
  return underSquare(sum.getInput()) || definedBy(base, ElementwiseFn::abs);
}
} // namespace

Value rootOrZero(Emitter &emit, Value sum) {
  Value vanishes = emit.elementwise(ElementwiseFn::eq, {sum, emit.scalar(elementTypeOf(sum), 0)});
  return whereNot(emit, vanishes, sum, [&](Value rest) { return emit.unary(ElementwiseFn::sqrt, rest); });
}

void squareRoot(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue &x = node.input(0);
  auto [sum, rows] = x.value && !x.selection ? varianceOf(x.value) : std::pair<nn::ReduceOp, Value>();
  Said said = sum ? saidOfDeviation(node.node) : Said::Root;
  if (said == Said::Root)
    return node.set(0, elementwise(emit, ElementwiseFn::sqrt, {&x}));
  if (said == Said::Nothing)
    emit.notices.insert(fmt::format(
        "`{}`: a standard deviation; where a row is constant its gradient is 0, as that of torch.std. "
        "The file does not tell it from a written-out sqrt(var), whose gradient is NaN there",
        node.node.name));
  Value vanishes = constantRows(emit, x.value, sum, rows);
  node.set(0, whereNot(emit, vanishes, x.value,
                       [&](Value rest) { return emit.unary(ElementwiseFn::sqrt, rest); }));
}

Value normFromSum(const Node &node, Emitter &emit, Value base, double exponent) {
  nn::ReduceOp sum = sumUnder(base);
  if (!sum || exponent <= 0 || exponent >= 1 || !isSumOfPowers(sum) || isOverBatch(sum))
    return {};
  std::optional<TracedCall> call = TracedCall::of(node);
  if (call && call->target.starts_with("aten.pow"))
    return {};
  Type element = elementTypeOf(base);
  Value vanishes = emit.elementwise(ElementwiseFn::eq, {base, emit.scalar(element, 0)});
  return whereNot(emit, vanishes, base, [&](Value rest) {
    return emit.elementwise(ElementwiseFn::pow, {rest, emit.scalar(element, exponent)});
  });
}

} // namespace accum::import
