// SPDX-License-Identifier: Apache-2.0
// Reverse mode over a straight-line forward graph.
#include "dialects/NN/Detached.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/Phases.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Differentiate/Accuracy.h"
#include "passes/Differentiate/Backward.h"
#include "passes/Differentiate/Detached.h"
#include "passes/Differentiate/NanSources.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Differentiate/StepBuilder.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Differentiate/Passes.h.inc"

namespace {

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override;
  LogicalResult buildStep(const ForwardGraph &graph);
  LogicalResult buildBackward(const ForwardGraph &graph, StepBuilder &step);
  void freezeUnreached(train::StepOp step);
};

} // namespace

/// What stands for the graph's active values in a phase.
static DenseSet<Value> activeIn(const ForwardGraph &graph, const IRMapping &phase) {
  DenseSet<Value> active;
  for (Value value : graph.active)
    if (Value copy = phase.lookupOrNull(value))
      active.insert(copy);
  return active;
}

/// The derivative of what runs once on the whole batch: with respect to what enters there, one value for each
/// of `cut`, null where the loss does not depend on it; and the gradients of the parameters that are read
/// there.
static LogicalResult differentiateMeeting(const ForwardGraph &graph, StepBuilder &step,
                                          SmallVector<Value> &cut,
                                          SmallVector<std::pair<StringAttr, Value>> &gradients) {
  nn::PlacedBuilder builder(step.step.getContext());
  builder.setInsertionPointToEnd(&step.meet.getBlock());
  DenseSet<Value> active = activeIn(graph, step.whole);
  Backward backward(builder, active);
  backward.seedLoss(step.whole.lookup(graph.loss));
  if (failed(step.tiles.differentiate(backward, builder, active)))
    return failure();
  for (nn::TotalOp total : graph.cut)
    cut.push_back(backward.sumOf(step.whole.lookup(total.getResult())));
  llvm::MapVector<StringAttr, SmallVector<Value>> terms;
  for (auto [name, value] : backward.gradients)
    terms[name].push_back(value);
  for (auto &[name, values] : terms)
    gradients.emplace_back(name, backward.sumOf(values, step.step.getLoc()));
  return failure(builder.failed());
}

/// The loop goes on from what was found on the whole batch: cotangents of its sums, and gradients that count
/// once.
LogicalResult Differentiate::buildBackward(const ForwardGraph &graph, StepBuilder &step) {
  SmallVector<Value> cut, left;
  SmallVector<std::pair<StringAttr, Value>> whole;
  if (step.meet) {
    if (failed(differentiateMeeting(graph, step, cut, whole)))
      return failure();
    llvm::copy_if(cut, std::back_inserter(left), [](Value value) { return static_cast<bool>(value); });
    llvm::append_range(left, llvm::make_second_range(whole));
    left = step.closeMeeting(left);
  }
  nn::PlacedBuilder builder(&getContext());
  builder.setInsertionPointToEnd(&step.loop.getBlock());
  DenseSet<Value> active = activeIn(graph, step.micro);
  Backward backward(builder, active);
  size_t next = 0;
  for (auto [total, cotangent] : llvm::zip(graph.cut, cut))
    if (cotangent)
      backward.seed(step.micro.lookup(nn::TotalOp(total).getInput()), left[next++]);
  if (!step.meet)
    backward.seedLoss(step.micro.lookup(graph.loss));
  if (failed(backward.visitAll(step.loop.getBlock())))
    return failure();
  if (builder.failed())
    return failure(); // a derivative that has no placement is our bug, reported at the op
  for (auto &[name, value] : whole)
    backward.gradients.emplace_back(name, step.share(left[next++]));
  step.finish(backward.gradients, optimizer);
  return success();
}

LogicalResult Differentiate::buildStep(const ForwardGraph &graph) {
  StepBuilder step(graph, StepBuilder::Trains, graph.function, tileRows, keepForward);
  step.addScalars();
  if (failed(buildBackward(graph, step)))
    return failure();
  StepBuilder eval(graph, StepBuilder::Evaluates, graph.function, tileRows);
  if (eval.meet)
    eval.closeMeeting({});
  eval.addScalars();
  if (accuracy && failed(countCorrect(graph, eval)))
    return failure();
  eval.finish({}, optimizer);
  freezeUnreached(step.step);
  return success();
}

/// A trained parameter that the loss does not depend on has no gradient and is left as it is.
void Differentiate::freezeUnreached(train::StepOp step) {
  ArrayAttr gradients = step.getGradients();
  for (auto param : getOperation().getOps<train::ParamOp>()) {
    if (!param.getTrained() || llvm::is_contained(gradients, FlatSymbolRefAttr::get(param.getSymNameAttr())))
      continue;
    param.emitRemark() << "`" << param.getSymName() << "` is trained but the loss does not depend on it";
    param.setTrained(false);
  }
}

/// Takes the function's place.
static void buildPrediction(func::FuncOp predict) {
  decomposeTopK(predict);
  ForwardGraph graph(predict);
  StepBuilder step(graph, StepBuilder::Predicts, predict, /*tileRows=*/0);
  step.finishOutputs();
  predict.erase();
}

/// What was detached is the value itself, once its derivative is taken.
static void dropDetached(ModuleOp module) {
  module.walk([](nn::ElementwiseOp op) {
    if (!nn::isDetached(op))
      return;
    assert(op.getType() == op.getOperands()[1].getType() &&
           "detached under a condition that is placed otherwise");
    op.getResult().replaceAllUsesWith(op.getOperands()[1]);
    op.erase();
  });
}

void Differentiate::runOnOperation() {
  auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
  if (!forward) {
    getOperation().emitError("there is no func.func @forward to differentiate");
    return signalPassFailure();
  }
  markDetached(forward);
  markNanSources(forward);
  decomposeTopK(forward);
  ForwardGraph graph(forward);
  if (failed(buildStep(graph)))
    return signalPassFailure();
  forward.erase();
  if (auto predict = getOperation().lookupSymbol<func::FuncOp>(train::kPredictFunction))
    buildPrediction(predict);
  dropDetached(getOperation());
  IRRewriter rewriter(&getContext());
  for (auto step : getOperation().getOps<train::StepOp>()) {
    (void)runRegionDCE(rewriter, step.getBody());
    train::dropUnusedCaptures(step);
  }
}

} // namespace accum
