// SPDX-License-Identifier: Apache-2.0
// The backward pass computes activations again where what they are made of is there anyway.
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fuse/Groups.h"
#include "passes/Fuse/Passes.h"
#include "passes/Fuse/RowSpace.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_REPEATELEMENTWISE
#include "passes/Fuse/Passes.h.inc"

namespace {

constexpr int kMostOps = 4; ///< of a chain that is computed again

struct RepeatElementwise : impl::RepeatElementwiseBase<RepeatElementwise> {
  void runOnOperation() override;
};

class Repetition {
public:
  explicit Repetition(Block &block) : block(block), forward(forwardOps(block)) {}

  void run() {
    for (auto op : llvm::to_vector(block.getOps<nn::ElementwiseOp>())) {
      Chain chain;
      int budget = kMostOps;
      if (forward.contains(op) && isReadLateByRows(op) && isRepeatable(op, budget, chain))
        for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
          if (isLate(use.getOwner()))
            use.set(repeat(chain, use.getOwner()));
    }
  }

private:
  /// Ops that are computed again together, each behind those that it reads.
  using Chain = llvm::SmallSetVector<nn::ElementwiseOp, kMostOps>;

  bool isLate(Operation *user) const { return !forward.contains(user) && !isa<train::YieldOp>(user); }

  bool isReadLate(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isa<nn::ReshapeOp>(user) ? isReadLate(user->getResult(0)) : isLate(user);
    });
  }

  /// By kernels that have room for one more op, and by nobody who needs it in memory.
  bool isReadLateByRows(nn::ElementwiseOp op) const {
    auto isRowOp = [](Operation *user) {
      return isColumnSum(user) || (rowSpaceOf(user) && !isDataMovement(user));
    };
    return isReadLate(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return !isLate(user) || isRowOp(user); });
  }

  /// There in the backward pass whatever is done here: the same for all samples, an input, or read there.
  bool isThere(Value value) const {
    auto placement = nn::Placement::of(value.getType());
    return !value.getDefiningOp() || !(placement.isBatched() || placement.isWhole()) || isReadLate(value);
  }

  /// Adds the ops that are to be computed again to `chain`.
  bool isRepeatable(nn::ElementwiseOp op, int &budget, Chain &chain) const {
    if (!isAffordable(op) || budget <= 0)
      return false;
    --budget;
    for (Value operand : op->getOperands()) {
      auto producer = operand.getDefiningOp<nn::ElementwiseOp>();
      size_t before = chain.size();
      if (producer && forward.contains(producer) && isRepeatable(producer, budget, chain))
        continue;
      while (chain.size() > before)
        chain.pop_back();
      if (!isThere(operand))
        return false;
    }
    chain.insert(op);
    return true;
  }

  /// What an activation is made of: a few operations, where a value that is kept is written and read.
  static bool isAffordable(nn::ElementwiseOp op) {
    using Fn = nn::ElementwiseFn;
    return isCheap(op) ||
           llvm::is_contained({Fn::silu, Fn::sigmoid, Fn::tanh, Fn::gelu, Fn::gelu_tanh}, op.getFn());
  }

  static Value repeat(const Chain &chain, Operation *before) {
    OpBuilder builder(before);
    IRMapping mapping;
    Operation *last = nullptr;
    for (nn::ElementwiseOp op : chain)
      last = builder.clone(*op, mapping);
    return last->getResult(0);
  }

  Block &block;
  const llvm::SetVector<Operation *> forward;
};

} // namespace

void RepeatElementwise::runOnOperation() {
  for (auto step : getOperation().getOps<train::StepOp>())
    if (train::PhaseOp loop = step.getMainLoop())
      Repetition(loop.getBlock()).run();
}

} // namespace accum
