// SPDX-License-Identifier: Apache-2.0
// What inputs may hold after the end of a sample, read off how the graph uses them.
#include "passes/Lengths/Inputs.h"
#include "dialects/NN/NNDialect.h"
#include "passes/Lengths/Site.h"

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::lengths {
namespace {

/// The same elements in another shape, type or place.
bool isView(Operation *op) {
  return isa<nn::CastOp, nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp, nn::PadOp,
             nn::ConcatOp, nn::MaskRowsOp>(op);
}

std::optional<double> numberOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      std::vector<double> elements = elementsOf(constant.getValue());
      return elements.size() == 1 || (!elements.empty() && llvm::all_equal(elements))
                 ? std::optional(elements[0])
                 : std::nullopt;
    }
    if (!isa<nn::CastOp, nn::ReshapeOp, nn::BroadcastOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

/// How an input's elements are used.
struct Uses {
  bool isIndex = false;  ///< as indices or labels
  bool isFactor = false; ///< times something, or as a condition
  std::optional<double> ignored, compared;
};

void lookAt(OpOperand &use, Uses &uses) {
  Operation *op = use.getOwner();
  if (auto loss = dyn_cast<nn::CrossEntropyOp>(op)) {
    uses.isIndex = true;
    if (use.getOperandNumber() == 1 && loss.getIgnoreIndex())
      uses.ignored = static_cast<double>(static_cast<int64_t>(*loss.getIgnoreIndex()));
    return;
  }
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (!elementwise) {
    uses.isIndex |= isa<nn::GatherOp, nn::GatherElementsOp>(op);
    uses.isFactor |= isa<nn::ContractOp, nn::ReduceOp, nn::CumSumOp>(op) ||
                     (isa<nn::AttentionOp>(op) && use.getOperandNumber() == 3);
    return;
  }
  Fn fn = elementwise.getFn();
  bool compares = fn == Fn::eq || fn == Fn::ne;
  std::optional<double> number =
      compares ? numberOf(elementwise.getOperands()[1 - use.getOperandNumber()]) : std::nullopt;
  bool isBit = number && (*number == 0 || *number == 1);
  if (number && *number < 0)
    uses.ignored = number;
  else if (number)
    uses.compared = number;
  uses.isFactor |= fn == Fn::mul || fn == Fn::logical_and || fn == Fn::logical_not || isBit ||
                   (fn == Fn::select && use.getOperandNumber() == 0) || fn == Fn::sub;
}

/// Through views, whose elements are the input's.
Uses usesOf(Value argument) {
  Uses uses;
  SmallVector<Value> stack = {argument};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      if (isView(use.getOwner()))
        stack.push_back(use.getOwner()->getResult(0));
      lookAt(use, uses);
      bool isBit = isa<nn::CastOp>(use.getOwner()) && elementOf(use.getOwner()->getResult(0)).isInteger(1);
      uses.isFactor |= isBit;
    }
  }
  return uses;
}

/// One element a position, in each of a sample's rows.
bool isOfRows(Value argument, int64_t axis, const Lockstep &sizes) {
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t size = sizes.sizes().front(), rows = type.getNumElements() / size;
  return axis + 1 == type.getRank() && type.getDimSize(axis) == size &&
         rows * size == type.getNumElements() && llvm::none_of(llvm::seq<int64_t>(axis), [&](int64_t each) {
           return sizes.isRagged(argument, each);
         });
}

Candidate candidateOf(Value argument, unsigned number, int64_t axis, const Lockstep &sizes) {
  bool isOne = cast<RankedTensorType>(argument.getType()).getNumElements() == sizes.sizes().front();
  Uses uses = isOne || isOfRows(argument, axis, sizes) ? usesOf(argument) : Uses();
  bool isReal = isa<FloatType>(elementOf(argument));
  if (uses.ignored)
    return {number, axis, Use::Labels, *uses.ignored, !isOne};
  if (uses.isFactor && !uses.isIndex)
    return {number, axis, isReal ? Use::Weights : Use::Mask, 0, !isOne};
  if (uses.compared)
    return {number, axis, Use::PadIds, *uses.compared, !isOne};
  return {number, axis};
}

} // namespace

SmallVector<Candidate> findCandidates(const Lockstep &sizes) {
  SmallVector<Candidate> candidates;
  for (BlockArgument argument : sizes.smallest().getArguments())
    for (int64_t axis = 0; axis < cast<RankedTensorType>(argument.getType()).getRank(); ++axis)
      if (sizes.isRagged(argument, axis))
        candidates.push_back(candidateOf(argument, argument.getArgNumber(), axis, sizes));
  return candidates;
}

} // namespace accum::lengths
