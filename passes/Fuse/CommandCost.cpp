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

/// Products over the features of keys and over those of values, for each pair of a query and a key that it
/// sees.
static Affine attentionFlops(Type query, Type key, Type value, bool causal, int64_t keyProducts,
                             int64_t valueProducts) {
  auto q = cast<RankedTensorType>(query), k = cast<RankedTensorType>(key), v = cast<RankedTensorType>(value);
  int64_t queries = q.getDimSize(2), keys = k.getDimSize(2), pairs = queries * keys;
  if (causal) { // query i sees min(i + 1, keys)
    int64_t growing = std::min(queries, keys);
    pairs = growing * (growing + 1) / 2 + (queries - growing) * keys;
  }
  int64_t products = keyProducts * q.getDimSize(3) + valueProducts * v.getDimSize(3);
  int64_t flops = 2 * q.getDimSize(0) * q.getDimSize(1) * pairs * products;
  return nn::Placement::of(query).isBatched() ? Affine{0, flops} : Affine{flops, 0};
}

Affine flopsOf(Operation *op) {
  if (auto attention = dyn_cast<nn::AttentionOp>(op))
    return attentionFlops(attention.getQuery().getType(), attention.getKey().getType(),
                          attention.getValue().getType(), attention.getCausal(), 1, 1);
  if (auto backward = dyn_cast<nn::AttentionBwdOp>(op)) // scores again, dq, dk; dv, cotangents of the weights
    return attentionFlops(backward.getQuery().getType(), backward.getKey().getType(),
                          backward.getValue().getType(), backward.getCausal(), 3, 2);
  if (auto contract = dyn_cast<nn::ContractOp>(op))
    return contractFlops(contract);
  if (!isa<nn::NNDialect>(op->getDialect()) ||
      isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::GatherOp, nn::BroadcastOp,
          nn::ConstantOp, nn::IotaOp>(op))
    return {};
  // Elementwise and row ops touch each element of their largest value once or a few times.
  if (auto random = dyn_cast<nn::RandomOp>(op))
    return elementsOf(random.getType());
  Affine largest;
  for (Value value : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      largest = std::max(largest, elementsOf(type),
                         [](Affine a, Affine b) { return a.constant + a.slope < b.constant + b.slope; });
  return largest;
}

/// What is read of a kernel's argument: all of it, or what its only readers take.
static Affine bytesReadOf(BlockArgument argument) {
  Affine taken;
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    bool takesRows = isa<nn::SliceOp>(user) ||
                     (isa<nn::GatherOp, nn::GatherElementsOp>(user) && use.getOperandNumber() == 0);
    if (!takesRows)
      return bytesOf(argument.getType());
    taken += bytesOf(user->getResult(0).getType());
  }
  return taken;
}

Affine bytesMovedBy(func::FuncOp kernel) {
  Affine bytes;
  for (BlockArgument argument : kernel.getArguments())
    bytes += bytesReadOf(argument);
  for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
    // The table is there already: rows of it are read and written again.
    Operation *op = result.getDefiningOp();
    if (op && isa<nn::ScatterAddOp, nn::ScatterElementsAddOp>(op)) {
      bytes += bytesOf(op->getOperand(1).getType());
      bytes += bytesOf(op->getOperand(1).getType());
    } else {
      bytes += bytesOf(result.getType());
    }
  }
  return bytes;
}

} // namespace accum
