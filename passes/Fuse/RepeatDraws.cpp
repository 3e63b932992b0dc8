// SPDX-License-Identifier: Apache-2.0
// The backward pass draws random numbers again instead of keeping them.
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fuse/Groups.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_REPEATDRAWS
#include "passes/Fuse/Passes.h.inc"

namespace {

struct RepeatDraws : impl::RepeatDrawsBase<RepeatDraws> {
  void runOnOperation() override;
};

/// What the forward part of a block makes of random numbers and constants alone.
class Draws {
public:
  explicit Draws(Block &block) : forward(forwardOps(block)) {
    for (Operation &op : block)
      if (forward.contains(&op) && isDrawn(&op))
        drawn.insert(&op);
  }

  void run() {
    for (Operation *op : drawn)
      for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
        if (isLate(use.getOwner()) && isLarge(op))
          use.set(again(op, use.getOwner()));
  }

private:
  bool isDrawn(Operation *op) const {
    if (isa<nn::RandomOp>(op))
      return true;
    if (!isa<nn::ElementwiseOp, nn::CastOp, nn::BroadcastOp, nn::ReshapeOp>(op))
      return false;
    bool any = false;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (drawn.contains(producer))
        any = true;
      else if (!isKernelConstant(producer))
        return false;
    }
    return any;
  }

  bool isLate(Operation *user) const { return !forward.contains(user) && !isa<train::YieldOp>(user); }

  /// One number of a sample takes less memory than the call that draws it again is worth.
  static bool isLarge(Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() > 1;
  }

  Value again(Operation *op, Operation *before) {
    IRMapping &mapping = copies[before];
    if (Value known = mapping.lookupOrNull(op->getResult(0)))
      return known;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); drawn.contains(producer))
        (void)again(producer, before);
    return OpBuilder(before).clone(*op, copies[before])->getResult(0);
  }

  const llvm::SetVector<Operation *> forward;
  llvm::SetVector<Operation *> drawn;
  DenseMap<Operation *, IRMapping> copies; ///< by the op that reads them
};

} // namespace

void RepeatDraws::runOnOperation() {
  for (auto step : getOperation().getOps<train::StepOp>())
    if (train::PhaseOp loop = step.getMainLoop())
      Draws(loop.getBlock()).run();
}

} // namespace accum
