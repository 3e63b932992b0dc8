// SPDX-License-Identifier: Apache-2.0
// Reverse mode over a straight-line forward graph.
#include "dialects/NN/Detached.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/Phases.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Differentiate/Accuracy.h"
#include "passes/Differentiate/Detached.h"
#include "passes/Differentiate/NanSources.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Differentiate/StepBuilder.h"
#include "passes/Differentiate/Vjp.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Differentiate/Passes.h.inc"

namespace {

/// The cotangents of one phase.
class Backward {
public:
  Backward(OpBuilder &builder, DenseSet<Value> active) : builder(builder), active(std::move(active)) {}

  /// From the loss, whose cotangent is 1, to all that it depends on.
  LogicalResult run(Value loss);
  /// From the values that were seeded.
  LogicalResult visitAll(Block &block);
  void seed(Value value, Value cotangent) { contributions[value].push_back(cotangent); }
  Value sumOf(Value value) { return sumOf(contributions.lookup(value), value.getLoc()); }
  Value sumOf(SmallVector<Value> terms, Location loc);
  /// Contributions to the gradient of each trained parameter, in the order in which they are computed.
  SmallVector<std::pair<StringAttr, Value>> gradients;

private:
  LogicalResult visit(Operation *op);

  OpBuilder &builder;
  DenseSet<Value> active;
  DenseMap<Value, SmallVector<Value>> contributions;
};

struct Differentiate : impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override;
  LogicalResult buildStep(const ForwardGraph &graph);
  LogicalResult buildBackward(const ForwardGraph &graph, StepBuilder &step);
  void freezeUnreached(train::StepOp step);
};

} // namespace

/// All contributions to a value's cotangent as a balanced tree of sums; null where there are none.
Value Backward::sumOf(SmallVector<Value> terms, Location loc) {
  while (terms.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(nn::ElementwiseOp::create(builder, loc, nn::ElementwiseFn::add,
                                               ValueRange{terms[i], terms[i + 1]}));
    if (terms.size() % 2)
      next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.empty() ? Value() : terms.front();
}

LogicalResult Backward::visit(Operation *op) {
  if (auto load = dyn_cast<train::LoadParamOp>(op)) {
    for (Value contribution : contributions.lookup(load.getResult()))
      gradients.emplace_back(load.getParamAttr().getAttr(), contribution);
    return success();
  }
  Operation *last = &builder.getInsertionBlock()->back();
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(sumOf(result));
  if (llvm::none_of(cotangents, [](Value v) { return static_cast<bool>(v); }))
    return success();
  Vjp vjp(builder, op, cotangents, [&](Value v) { return active.contains(v); });
  if (failed(differentiateOp(vjp)))
    return failure();
  for (Operation *made = last->getNextNode(); made; made = made->getNextNode())
    made->setLoc(derivativeLocation(op));
  for (auto [operand, value] : vjp.given())
    if (active.contains(op->getOperand(operand)))
      contributions[op->getOperand(operand)].push_back(value);
  return success();
}

LogicalResult Backward::run(Value loss) {
  auto type = cast<RankedTensorType>(loss.getType());
  auto one =
      DenseElementsAttr::get(nn::slabOf(type), Attribute(builder.getFloatAttr(type.getElementType(), 1)));
  seed(loss, nn::ConstantOp::create(builder, loss.getLoc(), nn::Placement::of(type).dual().place(type), one));
  return visitAll(*loss.getParentBlock());
}

LogicalResult Backward::visitAll(Block &block) {
  auto ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getResults(), [&](Value v) { return active.contains(v); }) && failed(visit(op)))
      return failure();
  return success();
}

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
  Backward backward(builder, activeIn(graph, step.whole));
  if (failed(backward.run(step.whole.lookup(graph.loss))))
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
  Backward backward(builder, activeIn(graph, step.micro));
  size_t next = 0;
  for (auto [total, cotangent] : llvm::zip(graph.cut, cut))
    if (cotangent)
      backward.seed(step.micro.lookup(nn::TotalOp(total).getInput()), left[next++]);
  if (failed(step.meet ? backward.visitAll(step.loop.getBlock())
                       : backward.run(step.micro.lookup(graph.loss))))
    return failure();
  if (builder.failed())
    return failure(); // a derivative that has no placement is our bug, reported at the op
  for (auto &[name, value] : whole)
    backward.gradients.emplace_back(name, step.share(left[next++]));
  step.finish(backward.gradients, optimizer);
  return success();
}

LogicalResult Differentiate::buildStep(const ForwardGraph &graph) {
  StepBuilder step(graph, StepBuilder::Trains, graph.function);
  if (failed(buildBackward(graph, step)))
    return failure();
  StepBuilder eval(graph, StepBuilder::Evaluates, graph.function);
  if (eval.meet)
    eval.closeMeeting({});
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
  dropDetached(getOperation());
  IRRewriter rewriter(&getContext());
  for (auto step : getOperation().getOps<train::StepOp>()) {
    (void)runRegionDCE(rewriter, step.getBody());
    train::dropUnusedCaptures(step);
  }
}

} // namespace accum
