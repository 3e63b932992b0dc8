// SPDX-License-Identifier: Apache-2.0
// Replicated twins of partial values.
#include "passes/Check/Totals.h"
#include "dialects/NN/PlacedBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accum {

static bool isPartial(Value value) { return nn::Placement::of(value.getType()).isPartial(); }

/// The op takes sums to a sum, without a look at single samples.
static bool isBehindSums(Operation *op) { return llvm::any_of(op->getOperands(), isPartial); }

static int64_t sizeOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Whether the total is taken of this value itself: where the sum is born, and behind an op that makes it
/// smaller.
bool Totals::isTotalled(Value partial) {
  Operation *op = partial.getDefiningOp();
  if (!isBehindSums(op))
    return true;
  return !dependences.of(partial).onParameters && isa<nn::ReduceOp>(op) &&
         sizeOf(op->getOperand(0)) > sizeOf(partial);
}

bool Totals::exists(Value partial) {
  llvm::SetVector<Value> sums; // each once: a chain of `x + x` has a path for every subset of its ops
  sums.insert(partial);
  for (size_t i = 0; i < sums.size(); ++i) {
    Value sum = sums[i];
    Operation *op = sum.getDefiningOp();
    if (isa<nn::ShareOp>(op) || twins.contains(sum))
      continue;
    if (isTotalled(sum)) {
      if (dependences.of(sum).onParameters)
        return false;
      continue;
    }
    for (Value operand : op->getOperands())
      if (isPartial(operand))
        sums.insert(operand);
  }
  return true;
}

Value Totals::replicated(Value partial, Operation *before) {
  if (!isPartial(partial))
    return partial;
  if (Value twin = twins.lookup(partial))
    return twin;
  Operation *op = partial.getDefiningOp();
  if (auto share = dyn_cast<nn::ShareOp>(op))
    return twins[partial] = share.getInput();
  if (isTotalled(partial)) {
    OpBuilder builder(before);
    auto type = nn::Placement::replicated().place(partial.getType());
    auto total = nn::TotalOp::create(builder, op->getLoc(), type, partial);
    dependences.record(total);
    return twins[partial] = total;
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, replicated(operand, before));
  OpBuilder builder(before);
  Operation *twin = builder.clone(*op, mapping);
  nn::Refusal why;
  [[maybe_unused]] LogicalResult placed = nn::placeResults(twin, why);
  assert(succeeded(placed) && "an op on replicated operands is replicated");
  dependences.record(twin);
  for (auto [from, to] : llvm::zip(op->getResults(), twin->getResults()))
    twins[from] = to;
  return twins[partial];
}

SmallVector<Operation *> Totals::originsOf(Value partial) {
  llvm::SetVector<Value> chain;
  chain.insert(partial);
  SmallVector<Operation *> origins;
  for (size_t i = 0; i < chain.size(); ++i) {
    Operation *op = chain[i].getDefiningOp();
    if (!isBehindSums(op) && !isa<nn::ShareOp>(op))
      origins.push_back(op);
    for (Value operand : op->getOperands())
      if (isPartial(operand))
        chain.insert(operand);
  }
  return origins;
}

} // namespace accum
