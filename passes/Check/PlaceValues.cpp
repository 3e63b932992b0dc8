// SPDX-License-Identifier: Apache-2.0
// The forward walk of `check`: from extents to placements.
#include "passes/Check/PlaceValues.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/TrainDialect.h"

using namespace mlir;
using Kind = accum::nn::Refusal::Kind;

namespace accum {

static SmallVector<nn::Placement> placementsOf(ValueRange values) {
  return llvm::map_to_vector(values, [](Value v) { return nn::Placement::of(v.getType()); });
}

static SmallVector<int64_t> batchAxesOf(Type type) {
  auto extent = dyn_cast_or_null<nn::ExtentAttr>(cast<RankedTensorType>(type).getEncoding());
  return extent ? SmallVector<int64_t>(extent.getDims()) : SmallVector<int64_t>();
}

/// What import knows of a result's extents must be what its placement says; where it is not, the extents of
/// the exported batch are in the graph as constants.
static LogicalResult checkExtents(Operation *op, Value result, nn::Placement placement, nn::Refusal &why) {
  // Made by check itself.
  if (nn::Placement::of(result.getType()).kind != nn::Placement::Kind::Unplaced)
    return success();
  SmallVector<int64_t> axes = batchAxesOf(result.getType());
  if (axes.size() > 1) {
    why.kind = Kind::PairsSamples;
    why.sentence = "makes a value with the batch along two axes, in which every sample meets every other one";
    return failure();
  }
  bool isBatched = !axes.empty();
  if (isBatched == placement.isBatched() && (!isBatched || axes[0] == placement.dim))
    return success();
  bool takesPart = isa<nn::SliceOp, nn::GatherOp>(op);
  why.kind = takesPart ? Kind::TakesPart : Kind::BatchBakedIn;
  why.sentence = takesPart ? "takes a fixed number of samples out of the batch"
                           : "gives a value of fixed shape, although its operands grow with the batch";
  if (isBatched)
    why.sentence = "has the batch along axis " + std::to_string(axes[0]) +
                   " of its result, where its operands do not put it";
  return failure();
}

void PlaceValues::run() {
  placeArguments();
  for (Operation &op : llvm::make_early_inc_range(forward.getBody().front().without_terminator()))
    visit(&op);
  if (extent == All) {
    placeLoss();
    placeScalars();
  }
  SmallVector<Type> results;
  for (Value value : forward.getBody().front().getTerminator()->getOperands())
    results.push_back(value.getType());
  forward.setType(
      FunctionType::get(forward.getContext(), forward.getBody().front().getArgumentTypes(), results));
}

/// Arguments that `check` added itself are placed already.
void PlaceValues::placeArguments() {
  for (BlockArgument argument : forward.getArguments()) {
    nn::Placement placement = nn::Placement::of(argument.getType());
    if (placement.isBatched() || placement.isReplicated() || placement.isWhole())
      continue;
    // The batch size is part of the shape: see train::wholeBatchOf.
    if (forward.getArgAttr(argument.getArgNumber(), train::kBatchAxis)) {
      argument.setType(nn::Placement::whole().place(argument.getType()));
      continue;
    }
    SmallVector<int64_t> axes = batchAxesOf(argument.getType());
    if (axes.size() == 1) {
      argument.setType(nn::Placement::batched(axes[0]).place(argument.getType()));
      continue;
    }
    auto name = forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.name");
    nn::Refusal why;
    why.kind = axes.empty() ? Kind::NoBatchAxis : Kind::PairsSamples;
    why.sentence = "input `" + (name ? name.str() : std::to_string(argument.getArgNumber())) + "` has " +
                   (axes.empty() ? "no batch axis" : "the batch along two axes");
    rejected.push_back({argument.getLoc(), nullptr, why, {}});
    failedValues.insert(argument);
  }
}

void PlaceValues::visit(Operation *op) {
  bool poisoned = llvm::any_of(op->getOperands(), [&](Value v) { return failedValues.contains(v); });
  nn::Refusal why;
  if (!poisoned && succeeded(place(op, why))) {
    dependences.record(op);
    return;
  }
  failedValues.insert(op->result_begin(), op->result_end());
  if (!poisoned)
    reject(op, std::move(why));
}

/// Samples are numbered along the axis that holds them: what is drawn is keyed by sample.
template <class Op> static void keyBySample(Op op, nn::Placement placement) {
  if (!placement.isBatched())
    return;
  int64_t extent = cast<RankedTensorType>(op.getType()).getDimSize(placement.dim);
  op.setDim(placement.dim);
  op.setOuter(placement.outer);
  op.setRows(extent / placement.outer);
}

static void keyDraws(Operation *op, nn::Placement placement) {
  if (auto dropout = dyn_cast<nn::DropoutOp>(op))
    keyBySample(dropout, placement);
  if (auto random = dyn_cast<nn::RandomOp>(op)) {
    keyBySample(random, placement);
    random.getLikeMutable().clear();
  }
}

LogicalResult PlaceValues::place(Operation *op, nn::Refusal &why) {
  if (isa<train::LoadParamOp>(op)) {
    op->getResult(0).setType(nn::Placement::replicated().place(op->getResult(0).getType()));
    return success();
  }
  auto placed = dyn_cast<nn::PlacementOpInterface>(op);
  if (!placed) {
    why.sentence = "has no placement rule";
    return failure();
  }
  SmallVector<nn::Placement> results;
  while (failed(nn::inferPlacements(placed, placementsOf(op->getOperands()), results, why)))
    if (!repair(op, why))
      return failure();
  for (auto [result, placement] : llvm::zip(op->getResults(), results))
    if (failed(checkExtents(op, result, placement, why)))
      return failure();
  for (auto [result, placement] : llvm::zip(op->getResults(), results))
    result.setType(placement.place(result.getType()));
  keyDraws(op, results[0]);
  return success();
}

/// Replaces operands so that the op is nearer to a rule: each call has fewer partial or replicated terms to
/// blame.
bool PlaceValues::repair(Operation *op, nn::Refusal &why) {
  if (why.kind == Kind::SumMeetsSamples || why.kind == Kind::NonLinearInSum)
    return repairSums(op, why);
  if (why.kind != Kind::ReplicatedTerm)
    return false;
  OpBuilder builder(op);
  for (unsigned i : why.operands) {
    Value term = op->getOperand(i);
    auto type = nn::Placement::partial().place(term.getType());
    auto share = nn::ShareOp::create(builder, op->getLoc(), type, term, ValueRange());
    dependences.record(share);
    op->setOperand(i, share);
  }
  return true;
}

/// Whether a rule, or a share, is left once the operands `replaced` are replicated.
static bool wouldFit(Operation *op, ArrayRef<unsigned> replaced) {
  SmallVector<nn::Placement> operands = placementsOf(op->getOperands()), results;
  for (unsigned i : replaced)
    operands[i] = nn::Placement::replicated();
  nn::Refusal why;
  return succeeded(nn::inferPlacements(cast<nn::PlacementOpInterface>(op), operands, results, why)) ||
         why.kind == Kind::ReplicatedTerm;
}

/// Why sums that have no total are not enough.
static void explain(Operation *op, ArrayRef<unsigned> sums, nn::Refusal &why) {
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  bool divides = elementwise && elementwise.getFn() == nn::ElementwiseFn::div && sums.back() == 1;
  why.operands.assign(sums.begin(), sums.end());
  if (divides) {
    why.kind = Kind::MeanOfParameters;
    why.sentence = "divides by a sum over the batch that depends on parameters";
  }
}

/// A denominator comes last, so operands are tried from behind: sum / count has the total of the count.
bool PlaceValues::repairSums(Operation *op, nn::Refusal &why) {
  SmallVector<unsigned> able, unable;
  for (unsigned i : why.operands)
    (totals.exists(op->getOperand(i)) ? able : unable).push_back(i);
  SmallVector<unsigned> chosen;
  for (unsigned i : llvm::reverse(able))
    if (chosen.empty() && wouldFit(op, {i}))
      chosen.push_back(i);
  if (chosen.empty() && able.size() == why.operands.size())
    chosen = able;
  for (unsigned i : chosen)
    op->setOperand(i, totals.replicated(op->getOperand(i), op));
  if (!chosen.empty())
    return true;
  explain(op, unable, why);
  return false;
}

void PlaceValues::reject(Operation *op, nn::Refusal why) {
  llvm::SetVector<Operation *> origins;
  for (unsigned i : why.operands)
    if (nn::Placement::of(op->getOperand(i).getType()).isPartial())
      origins.insert_range(totals.originsOf(op->getOperand(i)));
  rejected.push_back({op->getLoc(), op, std::move(why), origins.takeVector()});
}

void PlaceValues::placeLoss() {
  Operation *terminator = forward.getBody().front().getTerminator();
  Value loss = terminator->getOperand(0);
  if (failedValues.contains(loss))
    return;
  auto type = cast<RankedTensorType>(loss.getType());
  nn::Placement placement = nn::Placement::of(type);
  nn::Refusal why;
  if (placement.isReplicated() && dependences.of(loss).onTotals) {
    // A function of totals only, computed once.
    OpBuilder builder(terminator);
    loss = nn::ShareOp::create(builder, terminator->getLoc(), nn::Placement::partial().place(type), loss,
                               ValueRange());
    terminator->setOperand(0, loss);
    placement = nn::Placement::partial();
  }
  if ((placement.isPartial() || placement.isWhole()) && type.getRank() == 0)
    return;
  why.kind = placement.isReplicated() ? Kind::LossIsConstant : Kind::LossPerSample;
  why.sentence = placement.isReplicated() ? "the loss does not depend on the batch"
                 : placement.isBatched()  ? "the loss has one value per sample, expected a scalar"
                                          : "the loss is not a scalar";
  Operation *producer = loss.getDefiningOp();
  rejected.push_back({producer ? producer->getLoc() : loss.getLoc(), nullptr, std::move(why), {}});
}

/// Beside the loss those that are sums over the samples, or the same for all of them. Others leave.
void PlaceValues::placeScalars() {
  auto names = forward->getAttrOfType<ArrayAttr>(train::kScalarNames);
  if (!names)
    return;
  Operation *terminator = forward.getBody().front().getTerminator();
  SmallVector<Value> kept = {terminator->getOperand(0)};
  SmallVector<Attribute> keptNames;
  for (auto [name, value] : llvm::zip_equal(names, llvm::drop_begin(terminator->getOperands()))) {
    nn::Placement placement = nn::Placement::of(value.getType());
    Value term = value;
    if (placement.isReplicated()) {
      OpBuilder builder(terminator);
      term = nn::ShareOp::create(builder, terminator->getLoc(),
                                 nn::Placement::partial().place(value.getType()), value, ValueRange());
    } else if (!placement.isPartial() && !placement.isWhole()) {
      continue;
    }
    kept.push_back(term);
    keptNames.push_back(name);
  }
  terminator->setOperands(kept);
  forward->setAttr(train::kScalarNames, ArrayAttr::get(forward.getContext(), keptNames));
}

} // namespace accum
