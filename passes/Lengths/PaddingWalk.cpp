// SPDX-License-Identifier: Apache-2.0
// The forward walk: from what inputs hold after the end to what the loss depends on.
#include "passes/Lengths/PaddingWalk.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Lengths/Drift.h"
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {

namespace {
class PaddingWalk {
public:
  PaddingWalk(const Lockstep &sizes, Tables &tables) : sizes(sizes), tables(tables) {}

  void presume(ArrayRef<Presumed> inputs);
  void visit(Operation *op);
  DenseMap<Value, Facts> take() { return std::move(facts); }

private:
  std::shared_ptr<const Cause> inherited(Operation *op);
  LogicalResult settle(Site &site, Value result, Facts &known);
  LogicalResult measure(Site &site, Value result, RaggedAxis &axis);

  const Lockstep &sizes;
  Tables &tables;
  DenseMap<Value, Facts> facts;
};
} // namespace

void PaddingWalk::presume(ArrayRef<Presumed> inputs) {
  for (Value argument : sizes.smallest().getArguments())
    facts[argument]; // without ragged axes
  for (const Presumed &input : inputs) {
    RaggedAxis axis{.axis = input.axis};
    if (input.fill)
      axis.fill = Fill{.number = *input.fill, .before = input.before};
    if (input.first)
      axis.first = First::of(*input.first);
    Facts &known = facts[sizes.smallest().getArgument(input.argument)];
    known.axes.push_back(axis);
  }
  for (Value argument : sizes.smallest().getArguments())
    normalise(facts[argument]);
}

/// What a slice takes of a concatenation, where that is all of one operand; null otherwise.
static Value partOf(Operation *op) {
  auto slice = dyn_cast<nn::SliceOp>(op);
  auto concat = slice ? slice.getInput().getDefiningOp<nn::ConcatOp>() : nn::ConcatOp();
  int64_t start = 0;
  for (Value part : concat ? concat.getInputs() : ValueRange()) {
    bool isAll =
        slice.getStarts()[concat.getAxis()] == start && nn::sameSlabs(part.getType(), slice.getType());
    if (isAll)
      return part;
    start += cast<RankedTensorType>(part.getType()).getDimSize(concat.getAxis());
  }
  return {};
}

/// A select whose condition is known does not read what it leaves out, nor a product what is times zero.
std::shared_ptr<const Cause> PaddingWalk::inherited(Operation *op) {
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  bool selects = elementwise && elementwise.getFn() == nn::ElementwiseFn::select;
  std::optional<double> condition = selects ? facts[op->getOperand(0)].number : std::nullopt;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool isLeftOut = condition && i == (*condition != 0 ? 2u : 1u);
    bool isTimesZero = elementwise && elementwise.getFn() == nn::ElementwiseFn::mul &&
                       facts[op->getOperand(1 - i)].number == 0.0;
    if (facts[operand].wrong && !isLeftOut && !isTimesZero)
      return facts[operand].wrong;
  }
  return nullptr;
}

/// The shift of an axis, from its extents.
LogicalResult PaddingWalk::measure(Site &site, Value result, RaggedAxis &axis) {
  SmallVector<int64_t> shifts;
  for (auto [extent, size] : llvm::zip(sizes.extents(result, axis.axis), sizes.sizes())) {
    int64_t block = axis.outer * axis.inner;
    if (extent % block != 0)
      return site.refuse("makes a value of shape " + site.shape(result) + ", whose axis " + Twine(axis.axis) +
                         " holds no whole positions");
    shifts.push_back(extent / block - size);
  }
  if (!llvm::all_equal(shifts))
    return site.refuse("makes a value of shape " + site.shape(result) + ", whose axis " + Twine(axis.axis) +
                       " grows in another way than the dimension");
  axis.shift = shifts.front();
  return success();
}

LogicalResult PaddingWalk::settle(Site &site, Value result, Facts &known) {
  llvm::erase_if(known.axes, [&](const RaggedAxis &each) { return !sizes.isRagged(result, each.axis); });
  for (RaggedAxis &axis : known.axes)
    if (failed(measure(site, result, axis)))
      return failure();
  for (int64_t axis = 0, rank = cast<RankedTensorType>(result.getType()).getRank(); axis < rank; ++axis)
    if (sizes.isRagged(result, axis) && nn::Placement::of(result.getType()).isWhole())
      return site.refuseEntry(result);
    else if (sizes.isRagged(result, axis) && !known.along(axis))
      return site.refuse("makes a value of shape " + site.shape(result) + " whose axis " + Twine(axis) +
                         " depends on the dimension where no operand has it");
  normalise(known);
  return success();
}

/// select(is_nan(p), 0, p) of a softmax p, whose rows are NaN where all is hidden.
static bool replacesHiddenRows(nn::ElementwiseOp op) {
  auto condition = op.getOperands()[0].getDefiningOp<nn::ElementwiseOp>();
  bool asks = condition && condition.getFn() == nn::ElementwiseFn::is_nan &&
              condition.getOperands()[0] == op.getOperands()[2];
  auto softmax = asks ? op.getOperands()[2].getDefiningOp<nn::SoftmaxOp>() : nn::SoftmaxOp();
  return softmax && !softmax.getLog();
}

/// Low scores stay low but through functions that flatten them. NaN is not ordinary.
static bool isOrdinary(Site &site, const Facts &result) {
  Type element = elementOf(site.op->getResult(0));
  bool areOperands = llvm::all_of(site.operands, [](const Facts *each) { return each->isOrdinary; });
  if (result.number)
    return std::isfinite(*result.number) && *result.number > kLow && *result.number < -kLow;
  if (site.operands.empty() || isa<nn::ReduceOp>(site.op))
    return result.isOrdinary;
  if (isa<nn::GatherOp, nn::GatherElementsOp>(site.op))
    return site.operands[0]->isOrdinary;
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(site.op))
    return result.isFinite && (!softmax.getLog() || areOperands);
  auto elementwise = dyn_cast<nn::ElementwiseOp>(site.op);
  if (elementwise && elementwise.getFn() == nn::ElementwiseFn::select && site.operands[0]->number)
    return site.operands[*site.operands[0]->number != 0 ? 1 : 2]->isOrdinary;
  if (elementwise && elementwise.getFn() == nn::ElementwiseFn::select && replacesHiddenRows(elementwise))
    return site.operands[1]->isOrdinary;
  bool flattens = elementwise && (elementwise.getFn() == nn::ElementwiseFn::exp ||
                                  elementwise.getFn() == nn::ElementwiseFn::sigmoid ||
                                  elementwise.getFn() == nn::ElementwiseFn::tanh);
  return areOperands || (flattens && site.operands[0]->isFinite) || element.isInteger(1) ||
         (isa<nn::AttentionOp>(site.op) && result.isFinite);
}

/// Low scores that are added, chosen or moved are not high.
static bool isCapped(Site &site, const Facts &result) {
  if (result.isOrdinary || site.operands.empty())
    return result.isOrdinary || result.isCapped;
  auto elementwise = dyn_cast<nn::ElementwiseOp>(site.op);
  bool keeps =
      elementwise
          ? elementwise.getFn() == nn::ElementwiseFn::add ||
                elementwise.getFn() == nn::ElementwiseFn::select ||
                elementwise.getFn() == nn::ElementwiseFn::max
          : isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp, nn::CastOp, nn::MaskRowsOp>(
                site.op);
  return keeps && llvm::all_of(site.operands, [](const Facts *each) { return each->isCapped; });
}

/// Twice the lowest number is infinite; where it is only moved or chosen it stays what it is.
static bool movesOnly(Operation *op) {
  if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
    return elementwise.getFn() == nn::ElementwiseFn::select ||
           elementwise.getFn() == nn::ElementwiseFn::min || elementwise.getFn() == nn::ElementwiseFn::max ||
           elementwise.getFn() == nn::ElementwiseFn::neg;
  return !isa<nn::ContractOp, nn::ReduceOp, nn::CumSumOp, nn::LayerNormOp, nn::RmsNormOp, nn::CrossEntropyOp>(
      op);
}

/// The lowest number is far from what adding something ordinary could make infinite.
static bool addsOrdinary(Site &site) {
  auto elementwise = dyn_cast<nn::ElementwiseOp>(site.op);
  bool adds = elementwise && (elementwise.getFn() == nn::ElementwiseFn::add ||
                              elementwise.getFn() == nn::ElementwiseFn::sub);
  return adds && llvm::any_of(site.operands, [](const Facts *each) { return each->isOrdinary; });
}

void PaddingWalk::visit(Operation *op) {
  SmallVector<Facts, 1> results(op->getNumResults());
  std::shared_ptr<const Cause> wrong = inherited(op);
  Site site{op, {}, sizes, tables};
  for (Value operand : op->getOperands())
    site.operands.push_back(&facts[operand]);
  Value part = partOf(op);
  if (part &&
      !sizes.isRagged(op->getOperand(0), cast<nn::ConcatOp>(op->getOperand(0).getDefiningOp()).getAxis())) {
    wrong = facts[part].wrong;
    results[0] = facts[part];
  } else if (!wrong) {
    Rule rule = findRule(op->getName().getStringRef());
    LogicalResult known =
        rule ? rule(site, results) : site.refuse("has no rule for what is after the end of a sample");
    for (auto [result, each] : llvm::zip(op->getResults(), results))
      if (succeeded(known))
        known = settle(site, result, each);
    if (failed(known))
      wrong = std::make_shared<Cause>(Cause{op, site.sentence, site.wayOut});
    for (size_t i = 0; i < results.size() && !wrong && !isa<nn::ConstantOp>(op); ++i)
      wrong = followDrift(site, results[i]);
  }
  for (auto [result, each] : llvm::zip(op->getResults(), results)) {
    each.isOrdinary = isOrdinary(site, each);
    each.isCapped = isCapped(site, each);
    each.isFinite &= each.isOrdinary || movesOnly(op) || addsOrdinary(site);
    each.wrong = wrong;
    facts[result] = std::move(each);
  }
}

DenseMap<Value, Facts> inferFacts(const Lockstep &sizes, Tables &tables, ArrayRef<Presumed> inputs) {
  PaddingWalk walk(sizes, tables);
  walk.presume(inputs);
  for (Operation &op : sizes.smallest().getBody().front().without_terminator())
    walk.visit(&op);
  return walk.take();
}

std::shared_ptr<const Cause> findCause(const Lockstep &sizes, Tables &tables, ArrayRef<Presumed> inputs) {
  Value loss = sizes.smallest().getBody().front().getTerminator()->getOperand(0);
  const Facts facts = inferFacts(sizes, tables, inputs)[loss];
  return facts.wrong || !facts.drift ? facts.wrong : facts.drift->cause;
}

} // namespace accum::lengths
