// SPDX-License-Identifier: Apache-2.0
// Placing nn ops as they are built.
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Boundary.h"

using namespace mlir;

namespace accum::nn {

LogicalResult inferPlacements(PlacementOpInterface op, ArrayRef<Placement> operands,
                              SmallVectorImpl<Placement> &results, Refusal &why) {
  if (llvm::none_of(operands, [](Placement p) { return p.isWhole(); }))
    return op.inferPlacements(operands, results, why);
  results.assign(op->getNumResults(), isBoundary(op) ? Placement::replicated() : Placement::whole());
  return success();
}

LogicalResult placeResults(Operation *op, Refusal &why) {
  auto placed = cast<PlacementOpInterface>(op);
  SmallVector<Placement> operands, results;
  for (Value operand : op->getOperands()) {
    operands.push_back(Placement::of(operand.getType()));
    if (operands.back().kind == Placement::Kind::Unplaced) {
      why.kind = Refusal::Kind::Misplaced;
      why.sentence = "has an operand without a placement";
      return failure();
    }
  }
  if (failed(inferPlacements(placed, operands, results, why)))
    return failure();
  for (auto [result, placement] : llvm::zip(op->getResults(), results))
    result.setType(placement.place(result.getType()));
  return success();
}

void PlacementListener::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) {
  // A move keeps what is there.
  if (previous.isSet() || !isa<PlacementOpInterface>(op))
    return;
  Refusal why;
  if (succeeded(placeResults(op, why)))
    return;
  op->emitError("has no placement: it ") << why.sentence;
  anyFailed = true;
}

} // namespace accum::nn
