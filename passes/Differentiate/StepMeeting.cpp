// SPDX-License-Identifier: Apache-2.0
// The phases of a step whose samples meet: encode, whole, and micro-steps that go on from there.
#include "dialects/NN/Boundary.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/Phases.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/Differentiate/StepBuilder.h"

using namespace mlir;

namespace accum {

/// Whether something enters the whole batch from micro-batches.
static bool isSplit(func::FuncOp forward) {
  return llvm::any_of(forward.getOps<nn::ReshapeOp>(), [](nn::ReshapeOp op) { return nn::isBoundary(op); });
}

/// What the loss is computed from, up to the totals that enter.
void ForwardGraph::findMeeting() {
  for (auto total : function.getOps<nn::TotalOp>())
    if (nn::isCut(total))
      cut.push_back(total);
  Operation *last = loss.getDefiningOp();
  if (!last || !nn::Placement::of(loss.getType()).isWhole() || !isSplit(function))
    return;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [](Operation *op) { return !isa<nn::TotalOp>(op); };
  (void)getBackwardSlice(last, &meeting, options);
}

/// The forward part of the micro-steps, for what enters where samples meet.
void StepBuilder::buildEncode() {
  train::PhaseOp phase = addPhase("encode", /*isLoop=*/true, "encode: micro-steps up to where samples meet");
  IRMapping mapping;
  bringKnown(phase, mapping);
  cloneMicro(mapping, phase);
  SmallVector<Operation *> totals(graph.cut.begin(), graph.cut.end());
  if (keepForward)
    phase->setAttr(train::kRest, builder.getUnitAttr());
  size_t before = results.size();
  addTotals(phase, totals, mapping);
  for (size_t number = before; number < results.size(); ++number)
    cutNames.push_back(totalName(number));
}

/// The loop has the terms of the first micro-step, which `encode` leaves out.
void StepBuilder::addKeptTerms() {
  for (auto [total, name] : llvm::zip_equal(graph.cut, cutNames))
    sums.emplace_back(name, micro.lookup(nn::TotalOp(total).getInput()));
}

/// All ops of a micro-step, of which some are dead.
void StepBuilder::cloneMicro(IRMapping &mapping, train::PhaseOp phase) {
  for (Operation &op : forward.getBody().front().without_terminator())
    if (!isa<nn::TotalOp>(op) && !graph.prologue.contains(&op) && !isAfterMeeting(&op))
      cloneInto(&op, mapping, phase);
}

void StepBuilder::buildMeeting(int64_t tileRows) {
  meet = addPhase("whole", /*isLoop=*/false, "whole: the rest of the loss, on the whole batch at once");
  bringKnown(meet, whole);
  for (Operation &op : forward.getBody().front().without_terminator())
    if (graph.meeting.contains(&op) && !whole.contains(op.getResult(0)))
      cloneInto(&op, whole, meet);
  int64_t batch = train::splitBatchOf(step->getParentOp()).value_or(0);
  whole.map(graph.loss, tiles.build(meet.getBlock(), whole.lookup(graph.loss), batch, tileRows));
}

SmallVector<Value> StepBuilder::closeMeeting(ArrayRef<Value> left) {
  builder.setInsertionPointToEnd(&meet.getBlock());
  SmallVector<Value> values = {whole.lookup(graph.loss)};
  llvm::append_range(values, left);
  for (Value &value : values)
    if (nn::Placement::of(value.getType()).isWhole())
      value = nn::atBoundary(builder, value, nn::Placement::replicated().place(value.getType()));
  SmallVector<Type> types(ValueRange(values).getTypes());
  meet = leave(meet, values, {}, {});
  meet = train::withResults(meet, types, SmallVector<int64_t>(types.size(), -1));
  if (train::isOneOfSplitSizes(step->getParentOp()))
    meet->setAttr(train::kLeavesInState,
                  builder.getStringAttr(purpose == Trains ? "whole" : "whole of evaluation"));
  loop = addPhase(purpose == Trains ? "micro" : "evaluation", /*isLoop=*/true, "micro-steps");
  loop->setAttr(train::kGoesOn, builder.getUnitAttr());
  bringKnown(loop, micro);
  auto seen = llvm::map_to_vector(meet->getResults(),
                                  [&](Value value) -> Value { return loop.capture(value, step.getLoc()); });
  if (purpose == Trains)
    cloneMicro(micro, loop);
  if (keepForward)
    addKeptTerms();
  builder.setInsertionPointToEnd(&loop.getBlock());
  loss = share(seen.front());
  return {seen.begin() + 1, seen.end()};
}

Value StepBuilder::share(Value value) {
  return nn::ShareOp::create(builder, value.getLoc(), nn::Placement::partial().place(value.getType()), value,
                             micro.lookup(firstRow()));
}

/// What runs once on the whole batch begins with its first row.
Value StepBuilder::firstRowIn(const IRMapping &mapping, Operation *before) {
  if (Value known = mapping.lookupOrNull(firstRow()))
    return known;
  auto type = RankedTensorType::get({}, builder.getI64Type());
  OpBuilder at(before);
  return nn::ConstantOp::create(at, before->getLoc(), nn::Placement::replicated().place(type),
                                DenseElementsAttr::get(type, int64_t{0}));
}

/// It is computed from something whole.
bool StepBuilder::isAfterMeeting(Operation *op) {
  return llvm::any_of(llvm::concat<Value>(op->getOperands(), op->getResults()),
                      [](Value value) { return nn::Placement::of(value.getType()).isWhole(); }) &&
         !graph.meeting.empty();
}

} // namespace accum
