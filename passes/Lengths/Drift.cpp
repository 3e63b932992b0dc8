// SPDX-License-Identifier: Apache-2.0
// Scores that count positions from the right: one number more than from the left, which a softmax does not
// see.
#include "passes/Lengths/Drift.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::lengths {
namespace {

/// Where an axis of one of the operands is in a result of more axes.
int64_t movedBy(int64_t axis, int64_t lead) { return axis == kAnyAxis ? kAnyAxis : axis + lead; }

/// Times a factor that has no positions and does not vary along the axis.
std::optional<int64_t> scaled(nn::ElementwiseOp op, const Site &site, unsigned number, int64_t axis,
                              const Facts &result) {
  unsigned factor = 1 - number;
  bool isFactor = op.getFn() == Fn::mul || (op.getFn() == Fn::div && number == 0);
  if (!isFactor || !site.operands[factor]->axes.empty())
    return std::nullopt;
  if (site.operands[factor]->number)
    return axis;
  if (axis == kAnyAxis && result.axes.size() != 1)
    return std::nullopt;
  axis = axis == kAnyAxis ? result.axes.front().axis : axis;
  auto type = cast<RankedTensorType>(op.getOperands()[factor].getType());
  int64_t own = axis - (rankOf(op.getResult()) - type.getRank());
  return own < 0 || type.getDimSize(own) == 1 ? std::optional(axis) : std::nullopt;
}

std::optional<int64_t> axisAfter(nn::ElementwiseOp op, const Site &site, unsigned number, int64_t axis,
                                 const Facts &result) {
  axis = movedBy(axis, rankOf(op.getResult()) - rankOf(op.getOperands()[number]));
  switch (op.getFn()) {
  case Fn::add:
  case Fn::sub:
  case Fn::neg:
    return axis;
  case Fn::select: { // what hides does so whatever is added to the others
    if (site.operands[0]->number)
      return number > 0 ? std::optional(axis) : std::nullopt;
    std::optional<double> instead = number > 0 ? site.operands[3 - number]->number : std::nullopt;
    return instead && *instead <= kLow ? std::optional(axis) : std::nullopt;
  }
  default:
    return scaled(op, site, number, axis, result);
  }
}

/// The axis of positions that it was, which keeps their order.
std::optional<int64_t> axisAfter(nn::ReshapeOp, const Facts &input, int64_t axis, const Facts &result) {
  if (axis == kAnyAxis)
    return axis;
  auto before = [](const Facts &facts, int64_t of) {
    return llvm::count_if(facts.axes, [&](const RaggedAxis &each) { return each.axis < of; });
  };
  const RaggedAxis *own = input.along(axis);
  for (const RaggedAxis &each : result.axes)
    if (own && own->isPlain() && each.isPlain() && before(result, each.axis) == before(input, axis))
      return each.axis;
  return std::nullopt;
}

/// Where it is in the result; kGone where the op does not see it; nothing where the op would.
constexpr int64_t kGone = -2;
std::optional<int64_t> axisAfter(Site &site, unsigned number, int64_t axis, const Facts &result) {
  using Axis = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Axis>(site.op)
      .Case([&](nn::ElementwiseOp op) { return axisAfter(op, site, number, axis, result); })
      .Case([&](nn::ReshapeOp op) { return axisAfter(op, *site.operands[0], axis, result); })
      .Case([&](nn::TransposeOp op) -> Axis {
        return axis == kAnyAxis ? axis : std::distance(op.getPerm().begin(), llvm::find(op.getPerm(), axis));
      })
      .Case([&](nn::BroadcastOp op) -> Axis {
        return movedBy(axis, rankOf(op.getResult()) - rankOf(op.getInput()));
      })
      .Case([&](nn::CastOp op) -> Axis {
        Type from = elementOf(op.getOperand()), to = elementOf(op.getResult());
        bool keeps = isa<FloatType>(to) || (!isa<FloatType>(from) && !to.isInteger(1));
        return keeps ? Axis(axis) : Axis();
      })
      .Case<nn::SliceOp, nn::MaskRowsOp>([&](Operation *) -> Axis { return axis; })
      .Case([&](nn::SoftmaxOp op) -> Axis {
        bool isRemoved = axis == kAnyAxis || axis == static_cast<int64_t>(op.getAxis());
        return isRemoved ? Axis(kGone) : Axis();
      })
      .Case([&](nn::AttentionOp) -> Axis { // added to scores, along the keys
        bool isRemoved = number == 3 && (axis == kAnyAxis || axis == 3);
        return isRemoved && site.op->getResult(1).use_empty() ? Axis(kGone) : Axis();
      })
      .Default([](Operation *) { return Axis(); });
}

/// The branch that a select leaves out, or what is times zero.
bool isUnread(Site &site, unsigned number) {
  auto op = dyn_cast<nn::ElementwiseOp>(site.op);
  if (op && op.getFn() == Fn::select && site.operands[0]->number)
    return number == (*site.operands[0]->number != 0 ? 2u : 1u);
  return op && op.getFn() == Fn::mul && site.operands[1 - number]->number == 0.0;
}

} // namespace

std::shared_ptr<const Cause> followDrift(Site &site, Facts &result) {
  result.drift.reset();
  std::shared_ptr<const Cause> cause;
  for (auto [number, operand] : llvm::enumerate(site.operands)) {
    if (!operand->drift || isUnread(site, static_cast<unsigned>(number)))
      continue;
    std::optional<int64_t> axis =
        cause ? std::nullopt : axisAfter(site, static_cast<unsigned>(number), operand->drift->axis, result);
    cause = operand->drift->cause;
    if (!axis)
      return cause;
    if (*axis != kGone)
      result.drift = Drift{*axis, cause};
  }
  return nullptr;
}

std::optional<int64_t> findDrift(Site &site, nn::ConstantOp small, nn::ConstantOp large) {
  constexpr double kRounding = 2.4e-7; // of f32
  std::vector<double> a = elementsOf(small.getValue()), b = elementsOf(large.getValue());
  auto isScore = [](double x) { return x > kLow && x < -kLow; };
  if (a.empty() || !llvm::all_of(a, isScore) || !llvm::all_of(b, isScore) ||
      small.getType().getElementType().isInteger(1))
    return std::nullopt;
  if (a.size() == 1 && b.size() == 1)
    return kAnyAxis;
  ArrayRef<int64_t> shape = small.getType().getShape(), wider = large.getType().getShape();
  SmallVector<int64_t> ragged;
  for (auto [axis, extents] : llvm::enumerate(llvm::zip(shape, wider)))
    if (std::get<0>(extents) != std::get<1>(extents))
      ragged.push_back(static_cast<int64_t>(axis));
  bool isWhole = static_cast<int64_t>(a.size()) == small.getType().getNumElements() &&
                 static_cast<int64_t>(b.size()) == large.getType().getNumElements();
  if (ragged.size() != 1 || !isWhole)
    return std::nullopt;
  int64_t axis = ragged.front(), inner = 1;
  for (int64_t extent : shape.drop_front(axis + 1))
    inner *= extent;
  auto at = [&](const std::vector<double> &x, ArrayRef<int64_t> extents, int64_t outer, int64_t place,
                int64_t i) { return x[(outer * extents[axis] + place) * inner + i]; };
  auto isLarger = [](double x, double y) { return std::abs(x) < std::abs(y); };
  double most = std::max(std::abs(*std::max_element(a.begin(), a.end(), isLarger)),
                         std::abs(*std::max_element(b.begin(), b.end(), isLarger)));
  for (int64_t n = 0; n < static_cast<int64_t>(a.size()); ++n) {
    int64_t outer = n / inner / shape[axis], place = n / inner % shape[axis], i = n % inner;
    double own = at(b, wider, outer, place, i) - a[n],
           first = at(b, wider, outer, 0, i) - at(a, shape, outer, 0, i);
    if (std::abs(own - first) > kRounding * most)
      return std::nullopt;
  }
  return axis;
}

} // namespace accum::lengths
