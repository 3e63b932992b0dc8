// SPDX-License-Identifier: Apache-2.0
// From the loss back to its cross-entropy, and from there a count beside it.
#include "passes/Differentiate/Accuracy.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Placement.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace accum {
namespace {
using nn::ElementwiseFn;

InFlightDiagnostic refuse(Operation *op) { return op->emitError() << "--metric accuracy: "; }

constexpr const char *kNoLogits = "the loss has no class logits: no cross-entropy leads to it [no-metric]";

bool isBatched(Value value) { return nn::Placement::of(value.getType()).isBatched(); }

/// The ops from which the loss follows.
SetVector<Operation *> opsBehind(Value loss) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (Operation *op = loss.getDefiningOp())
    (void)getBackwardSlice(op, &slice, options);
  return slice;
}

/// Follows the losses of the rows to their sum.
class Rows {
public:
  Rows(nn::CrossEntropyOp entropy, const SetVector<Operation *> &behindLoss)
      : value(entropy.getLoss()), behindLoss(behindLoss) {}

  /// False where they are weighted, or used more than once.
  bool reachSum() {
    while (isBatched(value))
      if (!follow())
        return false;
    return true;
  }
  /// Conditions, of the labels' shape, outside of which a row is no target.
  SmallVector<Value> conditions;

private:
  bool follow();
  bool select(nn::ElementwiseOp op);

  Value value;
  const SetVector<Operation *> &behindLoss;
};

/// A row that is replaced where the condition does not hold counts where it does.
bool Rows::select(nn::ElementwiseOp op) {
  Value condition = op.getOperands()[0], otherwise = op.getOperands()[2];
  bool fits = op.getOperands()[1] == value && !isBatched(otherwise) &&
              cast<RankedTensorType>(condition.getType()).getShape() ==
                  cast<RankedTensorType>(value.getType()).getShape();
  conditions.push_back(condition);
  return fits;
}

bool Rows::follow() {
  SetVector<Operation *> users;
  for (Operation *user : value.getUsers())
    if (behindLoss.contains(user))
      users.insert(user);
  if (users.size() != 1)
    return false;
  Operation *user = users.front();
  auto elementwise = dyn_cast<nn::ElementwiseOp>(user);
  if (elementwise && elementwise.getFn() == ElementwiseFn::select) {
    if (!select(elementwise))
      return false;
  } else if (elementwise) {
    if (llvm::count_if(user->getOperands(), isBatched) != 1)
      return false;
  } else if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::CastOp, nn::MaskRowsOp, nn::ReduceOp>(user)) {
    return false;
  }
  value = user->getResult(0);
  return true;
}

/// Makes the counts at the end of the loop.
class Counter {
public:
  Counter(StepBuilder &eval, Location location) : location(location), builder(eval.step->getContext()) {
    builder.setInsertionPointToEnd(&eval.loop.getBlock());
  }
  Value elementwise(ElementwiseFn fn, ValueRange operands) {
    return nn::ElementwiseOp::create(builder, location, fn, operands);
  }
  Value cast(Value value, Type element) {
    if (mlir::cast<RankedTensorType>(value.getType()).getElementType() == element)
      return value;
    return nn::CastOp::create(builder, location, value, element);
  }
  Value integer(int64_t number) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return nn::ConstantOp::create(builder, location, nn::Placement::replicated().place(type),
                                  DenseElementsAttr::get(type, number));
  }
  /// The class of the largest logit of each row.
  Value predicted(Value logits, Value labels) {
    auto type = mlir::cast<RankedTensorType>(logits.getType());
    auto rows = RankedTensorType::get(type.getShape().drop_back(), builder.getI64Type());
    return nn::ArgReduceOp::create(builder, location, nn::Placement::of(labels.getType()).place(rows),
                                   nn::ReduceKind::max, logits, type.getRank() - 1);
  }
  /// How many real samples' rows hold it.
  Value count(Value condition, Value valid) {
    Value ones = cast(condition, builder.getI64Type());
    nn::Placement placement = nn::Placement::of(ones.getType());
    Value real = nn::MaskRowsOp::create(builder, location, ones.getType(), ones, valid, placement.dim,
                                        placement.outer);
    auto rank = mlir::cast<RankedTensorType>(real.getType()).getRank();
    return nn::ReduceOp::create(builder, location, nn::ReduceKind::sum, real,
                                llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  }
  bool failed() const { return builder.failed(); }
  Type integers() { return builder.getI64Type(); }

private:
  Location location;
  nn::PlacedBuilder builder;
};

/// The last argument of that name: what the check adds comes after the model's own inputs.
Value findArgument(func::FuncOp forward, StringRef name) {
  for (BlockArgument argument : llvm::reverse(forward.getArguments()))
    if (auto known = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.name"))
      if (known.getValue() == name)
        return argument;
  return {};
}

} // namespace

LogicalResult countCorrect(const ForwardGraph &graph, StepBuilder &eval) {
  SetVector<Operation *> behindLoss = opsBehind(graph.loss);
  SmallVector<nn::CrossEntropyOp> entropies;
  for (Operation *op : behindLoss)
    if (auto entropy = dyn_cast<nn::CrossEntropyOp>(op))
      entropies.push_back(entropy);
  if (entropies.empty())
    return refuse(graph.function) << kNoLogits;
  nn::CrossEntropyOp entropy = entropies.front();
  if (entropies.size() > 1)
    return refuse(entropy) << "the loss has " << entropies.size()
                           << " cross-entropies, and each has labels of its own [no-metric]";
  Rows rows(entropy, behindLoss);
  if (!isBatched(entropy.getLoss()) || !rows.reachSum())
    return refuse(entropy)
           << "the loss weighs the rows of its cross-entropy, by class or by position: what a "
              "target counts is not known [no-metric]";
  Counter counter(eval, entropy.getLoc());
  Value labels = counter.cast(eval.micro.lookup(entropy.getLabels()), counter.integers());
  Value counted = counter.elementwise(ElementwiseFn::eq, {labels, labels});
  if (auto ignored = entropy.getIgnoreIndex())
    counted =
        counter.elementwise(ElementwiseFn::ne, {labels, counter.integer(static_cast<int64_t>(*ignored))});
  for (Value condition : rows.conditions)
    counted = counter.elementwise(ElementwiseFn::logical_and, {counted, eval.micro.lookup(condition)});
  Value predicted = counter.predicted(eval.micro.lookup(entropy.getLogits()), labels);
  Value right = counter.elementwise(ElementwiseFn::eq, {predicted, labels});
  Value valid = eval.micro.lookup(findArgument(graph.function, "valid"));
  eval.sums.emplace_back(
      "correct", counter.count(counter.elementwise(ElementwiseFn::logical_and, {right, counted}), valid));
  eval.sums.emplace_back("counted", counter.count(counted, valid));
  return failure(counter.failed());
}

} // namespace accum
