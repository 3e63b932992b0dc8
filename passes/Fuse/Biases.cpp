// SPDX-License-Identifier: Apache-2.0
// Sums that are written anyway come from the library for nothing; those that end in another sum do not. A
// loss goes through its logits several times.
#include "passes/Fuse/Biases.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/GemmShape.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;

namespace accum {

/// The row kernel that adds to `sum` (a residual) reads the bare product as well, and the bias for nothing:
/// it is not rounded there.
static bool onlyMeetsSum(nn::ElementwiseOp sum) {
  auto isSum = [](Operation *user) {
    auto other = dyn_cast<nn::ElementwiseOp>(user);
    return other && other.getFn() == nn::ElementwiseFn::add;
  };
  return llvm::all_of(sum->getUsers(), isSum);
}

static bool meetsLoss(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (auto view = dyn_cast<nn::ReshapeOp>(user))
      return meetsLoss(view);
    return isa<nn::CrossEntropyOp, nn::CrossEntropyGradOp>(user);
  });
}

void claimBiases(Block &block, bool onlyOfLosses, DenseMap<Operation *, Operation *> &leaders) {
  for (auto sum : block.getOps<nn::ElementwiseOp>())
    for (Value operand : sum->getOperands()) {
      auto view = operand.getDefiningOp<nn::ReshapeOp>();
      Value product = view ? view.getInput() : operand;
      auto contract = product.getDefiningOp<nn::ContractOp>();
      bool isSole = contract && operand.hasOneUse() && product.hasOneUse() && contract->getBlock() == &block;
      if (!isSole || leaders.contains(contract) || (onlyOfLosses ? !meetsLoss(sum) : onlyMeetsSum(sum)))
        continue;
      auto type = cast<RankedTensorType>(product.getType());
      Value bias = biasOf(contract, sum);
      if (!bias || !bias.getDefiningOp<train::LoadParamOp>() || !type.getElementType().isF32() ||
          !nn::Placement::of(type).isBatched())
        continue;
      for (Operation *op : {contract.getOperation(), view.getOperation(), sum.getOperation()})
        if (op)
          leaders[op] = contract;
      break;
    }
}

} // namespace accum
