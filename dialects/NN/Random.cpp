// SPDX-License-Identifier: Apache-2.0
// Dropout, and other numbers that are drawn.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.cpp.inc"

namespace accum::nn {

void detail::addRandomOps(Dialect *dialect) {
  RegisteredOperationName::insert<DropoutOp>(*dialect);
  RegisteredOperationName::insert<RandomOp>(*dialect);
}

/// One number for each axis, and two for the one that holds samples.
template <class Op> static LogicalResult verifyKeyed(Op op) {
  if (!op.getKeyed())
    return success();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  bool hasSamples = op.getDim() || Placement::of(type).isBatched();
  auto axes = static_cast<size_t>(type.getRank()) + hasSamples;
  bool isPositive = llvm::all_of(*op.getKeyed(), [](int64_t extent) { return extent > 0; });
  return op.getKeyed()->size() == axes && isPositive
             ? success()
             : LogicalResult(op.emitOpError("is keyed by a shape of ")
                             << op.getKeyed()->size() << " axes, expected " << axes);
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio <= 1))
    return emitOpError("drops a share of ") << ratio << ", expected one in [0, 1]";
  if (!getSource().empty() && getSource().size() != 2)
    return emitOpError("has two sources, what the generator is keyed by and the number of the first row");
  auto input = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyKeyed(*this)))
    return failure();
  if (getDim() && static_cast<int64_t>(*getDim()) >= input.getRank())
    return emitOpError("has no axis ") << *getDim() << " in " << slabOf(input);
  return verifySameSlab(*this, getInput());
}

LogicalResult RandomOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!isa<FloatType>(type.getElementType()))
    return emitOpError("draws floats, not ") << type.getElementType();
  if (!getSource().empty() && getSource().size() != 2)
    return emitOpError("has two sources, what the generator is keyed by and the number of the first row");
  bool isMask = getKind() == RandomKind::mask;
  if (isMask != getRatio().has_value())
    return emitOpError(isMask ? "has no ratio" : "has a ratio, which only a mask has");
  if (double ratio = isMask ? getRatio()->convertToDouble() : 0; !(ratio >= 0 && ratio < 1))
    return emitOpError("drops a share of ") << ratio << ", expected one in [0, 1)";
  if (failed(verifyKeyed(*this)))
    return failure();
  if (getDim() && static_cast<int64_t>(*getDim()) >= type.getRank())
    return emitOpError("has no axis ") << *getDim() << " in " << slabOf(type);
  if (getLike() && cast<RankedTensorType>(getLike().getType()).getShape() != type.getShape())
    return emitOpError("draws ") << slabOf(type) << " like " << slabOf(getLike().getType());
  return success();
}

} // namespace accum::nn
