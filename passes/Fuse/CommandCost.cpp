// SPDX-License-Identifier: Apache-2.0
// What an op costs, as a function of the micro-batch size.
#include "passes/Fuse/CommandCost.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum {

Affine elementsOf(Type type) {
  int64_t elements = cast<RankedTensorType>(type).getNumElements();
  return nn::Placement::of(type).isBatched() ? Affine{0, elements} : Affine{elements, 0};
}

Affine bytesOf(Type type) {
  unsigned bits = cast<RankedTensorType>(type).getElementTypeBitWidth();
  Affine elements = elementsOf(type);
  int64_t bytes = (bits + 7) / 8;
  return {elements.constant * bytes, elements.slope * bytes};
}

/// 2 * product of all extents; some letter of a contraction with a batched operand is the sample axis.
static Affine contractFlops(nn::ContractOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()),
       rhs = cast<RankedTensorType>(op.getRhs().getType());
  int64_t product = 2 * lhs.getNumElements();
  for (auto [i, letter] : llvm::enumerate(op.rhsLetters()))
    if (!op.lhsLetters().contains(letter))
      product *= rhs.getDimSize(i);
  bool batched = nn::Placement::of(lhs).isBatched() || nn::Placement::of(rhs).isBatched();
  return batched ? Affine{0, product} : Affine{product, 0};
}

Affine flopsOf(Operation *op) {
  if (auto contract = dyn_cast<nn::ContractOp>(op))
    return contractFlops(contract);
  if (!isa<nn::NNDialect>(op->getDialect()) ||
      isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::GatherOp, nn::BroadcastOp,
          nn::ConstantOp, nn::IotaOp>(op))
    return {};
  // Elementwise and row ops touch each element of their largest value once or a few times.
  Affine largest;
  for (Value value : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      largest = std::max(largest, elementsOf(type),
                         [](Affine a, Affine b) { return a.constant + a.slope < b.constant + b.slope; });
  return largest;
}

} // namespace accum
