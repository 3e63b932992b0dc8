// SPDX-License-Identifier: Apache-2.0
// The rows that an op works on.
#include "passes/Fuse/RowSpace.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

/// Shape and placement; element types may differ inside a kernel (masks, casts).
static bool sameSpace(RankedTensorType a, RankedTensorType b) {
  return a.getShape() == b.getShape() && a.getEncoding() == b.getEncoding();
}

bool RowSpace::isFull(Type type) const { return sameSpace(cast<RankedTensorType>(type), full); }

bool RowSpace::isStatistic(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getEncoding() != full.getEncoding() || full.getRank() == 0)
    return false;
  ArrayRef<int64_t> shape = tensor.getShape(), leading = full.getShape().drop_back();
  if (shape.size() == leading.size() + 1 && shape.back() == 1)
    shape = shape.drop_back();
  return shape == leading;
}

bool RowSpace::holds(Operation *op) const {
  return llvm::all_of(op->getResultTypes(), [&](Type type) { return isFull(type) || isStatistic(type); });
}

/// The axes of a reduction are exactly the last one.
static bool reducesRows(nn::ReduceOp op) {
  int64_t last = cast<RankedTensorType>(op.getInput().getType()).getRank() - 1;
  return op.getAxes().size() == 1 && op.getAxes().front() == last;
}

static bool isLastAxis(Value value, int64_t axis) {
  return axis == cast<RankedTensorType>(value.getType()).getRank() - 1;
}

std::optional<RowSpace> rowSpaceOf(Operation *op) {
  Value full =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<nn::ElementwiseOp, nn::CastOp, nn::MaskRowsOp, nn::DropoutOp, nn::RandomOp, nn::BroadcastOp,
                nn::PadOp, nn::SliceOp, nn::ConcatOp, nn::GatherOp, nn::CrossEntropyGradOp>(
              [](Operation *op) { return op->getResult(0); })
          .Case([](nn::CrossEntropyOp op) { return op.getLogits(); })
          .Case([](nn::ReduceOp op) { return reducesRows(op) ? op.getInput() : Value(); })
          .Case([](nn::SoftmaxOp op) {
            return isLastAxis(op.getInput(), static_cast<int64_t>(op.getAxis())) ? op.getInput() : Value();
          })
          .Case<nn::LayerNormOp, nn::RmsNormOp>([](auto op) {
            return isLastAxis(op.getInput(), static_cast<int64_t>(op.getAxis())) ? op.getInput() : Value();
          })
          .Default(Value());
  if (!full)
    return std::nullopt;
  return RowSpace{cast<RankedTensorType>(full.getType())};
}

bool isDataMovement(Operation *op) { return isa<nn::PadOp, nn::SliceOp, nn::ConcatOp, nn::GatherOp>(op); }

bool isColumnSum(Operation *op) {
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  if (!reduce || reduce.getKind() != nn::ReduceKind::sum || reduce.getAxes().empty())
    return false;
  auto input = cast<RankedTensorType>(reduce.getInput().getType());
  for (auto [i, axis] : llvm::enumerate(reduce.getAxes()))
    if (axis != static_cast<int64_t>(i))
      return false;
  return static_cast<int64_t>(reduce.getAxes().size()) < input.getRank();
}

bool isCheap(Operation *op) {
  using Fn = nn::ElementwiseFn;
  if (isa<nn::CastOp, nn::BroadcastOp, nn::MaskRowsOp>(op))
    return true;
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (!elementwise)
    return false;
  switch (elementwise.getFn()) {
  case Fn::neg:
  case Fn::abs:
  case Fn::relu:
  case Fn::add:
  case Fn::sub:
  case Fn::mul:
  case Fn::min:
  case Fn::max:
  case Fn::select:
    return true;
  default:
    return false;
  }
}

} // namespace accum
