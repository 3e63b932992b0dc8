// SPDX-License-Identifier: Apache-2.0
// Infers every placement again and compares it with the types.
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Check/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_VERIFYPLACEMENT
#include "passes/Check/Passes.h.inc"

static LogicalResult verifyOp(nn::PlacementOpInterface op) {
  SmallVector<nn::Placement> operands, results;
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    operands.push_back(nn::Placement::of(value.getType()));
    if (operands.back().kind == nn::Placement::Kind::Unplaced)
      return op->emitError("operand ") << i << " has no placement";
  }
  nn::Refusal why;
  if (failed(nn::inferPlacements(op, operands, results, why)))
    return op->emitError("has no placement: it ") << why.sentence;
  for (auto [i, value, placement] : llvm::enumerate(op->getResults(), results))
    if (value.getType() != placement.place(value.getType()))
      return op->emitError("result ") << i << " has type " << value.getType() << ", but its operands give "
                                      << placement.place(value.getType());
  return success();
}

/// What leaves a loop is added up, what leaves another phase is the same everywhere.
static LogicalResult verifyPhase(train::PhaseOp phase) {
  nn::Placement wanted = phase.getLoop() ? nn::Placement::partial() : nn::Placement::replicated();
  train::YieldOp yield = phase.getYield();
  for (Value value : yield.getValues())
    if (auto placement = nn::Placement::of(value.getType());
        placement != wanted && !(wanted.isPartial() && placement.isWhole()))
      return yield.emitError() << value.getType() << " leaves the phase " << phase.getNameAttr()
                               << ", expected " << wanted.place(value.getType());
  return success();
}
namespace {
struct VerifyPlacement : impl::VerifyPlacementBase<VerifyPlacement> {
  void runOnOperation() override {
    bool anyFailed = false;
    getOperation().walk([&](Operation *op) {
      if (auto placed = dyn_cast<nn::PlacementOpInterface>(op))
        anyFailed |= failed(verifyOp(placed));
      else if (auto phase = dyn_cast<train::PhaseOp>(op))
        anyFailed |= failed(verifyPhase(phase));
    });
    markAllAnalysesPreserved();
    if (anyFailed)
      signalPassFailure();
  }
};
} // namespace

} // namespace accum
