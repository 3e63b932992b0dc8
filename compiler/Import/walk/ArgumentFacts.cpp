// SPDX-License-Identifier: Apache-2.0
// Bounds of index inputs, found by following indices back to the arguments.
#include "compiler/Import/walk/ArgumentFacts.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

namespace {
/// Where the elements of an argument arrive unchanged as indices.
struct Use {
  int64_t limit = 0;                ///< exclusive
  SmallVector<int64_t, 2> replaced; ///< numbers that never arrive: something else is taken in their place

  bool accepts(int64_t number) const {
    return (0 <= number && number < limit) || llvm::is_contained(replaced, number);
  }
};

/// What `compared` is asked for.
struct Comparison {
  Value compared;
  int64_t number = 0;
  bool isEqual = true; ///< else: whether it is another number
};
} // namespace

static std::optional<int64_t> splatInteger(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto values = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : DenseIntElementsAttr();
  if (!values || !values.isSplat())
    return std::nullopt;
  return values.getSplatValue<APInt>().getSExtValue();
}

static std::optional<Comparison> comparisonIn(Value condition) {
  auto compare = condition.getDefiningOp<nn::ElementwiseOp>();
  if (!compare)
    return std::nullopt;
  if (compare.getFn() == nn::ElementwiseFn::logical_not) {
    std::optional<Comparison> inner = comparisonIn(compare->getOperand(0));
    if (inner)
      inner->isEqual = !inner->isEqual;
    return inner;
  }
  bool isEqual = compare.getFn() == nn::ElementwiseFn::eq;
  if (!isEqual && compare.getFn() != nn::ElementwiseFn::ne)
    return std::nullopt;
  for (unsigned side : {0U, 1U})
    if (std::optional<int64_t> number = splatInteger(compare->getOperand(1 - side)))
      return Comparison{compare->getOperand(side), *number, isEqual};
  return std::nullopt;
}

Value moved(Value value) {
  Operation *op = value.getDefiningOp();
  bool moves =
      op && isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp, nn::CastOp, nn::PadOp>(op);
  return moves ? op->getOperand(0) : Value();
}

static Value argumentBehind(Value value) {
  while (Value before = moved(value))
    value = before;
  return isa<BlockArgument>(value) ? value : Value();
}

bool holdsElementsOf(Value value, Value argument) {
  if (Value before = moved(value))
    return holdsElementsOf(before, argument);
  auto elementwise = value.getDefiningOp<nn::ElementwiseOp>();
  if (!elementwise || elementwise.getFn() != nn::ElementwiseFn::select)
    return value == argument;
  return holdsElementsOf(elementwise->getOperand(1), argument) ||
         holdsElementsOf(elementwise->getOperand(2), argument);
}

using Uses = llvm::MapVector<Value, SmallVector<Use>>;

/// Through movement, casts and selects. What a select replaces counts for the argument that it asks for only.
static void collectUses(Value value, const Use &use, Uses &uses) {
  if (isa<BlockArgument>(value)) {
    uses[value].push_back(use);
    return;
  }
  if (Value before = moved(value))
    return collectUses(before, use, uses);
  auto select = value.getDefiningOp<nn::ElementwiseOp>();
  if (!select || select.getFn() != nn::ElementwiseFn::select)
    return;
  std::optional<Comparison> asked = comparisonIn(select->getOperand(0));
  Value argument = asked ? argumentBehind(asked->compared) : Value();
  unsigned unequal = asked && asked->isEqual ? 2 : 1;
  for (unsigned branch : {1U, 2U}) {
    Value chosen = select->getOperand(branch);
    if (!argument || !holdsElementsOf(chosen, argument)) {
      collectUses(chosen, use, uses);
    } else if (branch == unequal) {
      Use others = use;
      others.replaced.push_back(asked->number);
      collectUses(chosen, others, uses);
    } // else it is that one number
  }
}

/// What every use accepts is accepted. Of the numbers that are replaced on the way the one is kept that is
/// replaced last as the indices are followed: as a rule the model's own.
static void bound(func::FuncOp function, BlockArgument argument, ArrayRef<Use> uses) {
  Builder builder(function.getContext());
  int64_t limit =
      llvm::min_element(uses, [](const Use &a, const Use &b) { return a.limit < b.limit; })->limit;
  function.setArgAttr(argument.getArgNumber(), "train.bound", builder.getI64IntegerAttr(limit));
  for (const Use &use : uses)
    for (int64_t number : use.replaced)
      if (llvm::all_of(uses, [&](const Use &other) { return other.accepts(number); }))
        function.setArgAttr(argument.getArgNumber(), "train.ignore_index", builder.getI64IntegerAttr(number));
}

static StringRef synthesized(StringRef name) {
  if (name == "attention_mask")
    return "ones";
  if (name == "position_ids")
    return "iota";
  return name == "token_type_ids" ? "zeros" : "";
}

void annotateArguments(func::FuncOp function) {
  Uses uses;
  function.walk([&](Operation *op) {
    if (auto gather = dyn_cast<nn::GatherOp>(op)) {
      auto input = cast<RankedTensorType>(gather.getInput().getType());
      collectUses(gather.getIndices(), {input.getDimSize(static_cast<int64_t>(gather.getAxis())), {}}, uses);
    } else if (auto gather = dyn_cast<nn::GatherElementsOp>(op)) {
      auto input = cast<RankedTensorType>(gather.getInput().getType());
      collectUses(gather.getIndices(), {input.getDimSize(static_cast<int64_t>(gather.getAxis())), {}}, uses);
    } else if (auto loss = dyn_cast<nn::CrossEntropyOp>(op)) {
      Use use{cast<RankedTensorType>(loss.getLogits().getType()).getShape().back(), {}};
      if (auto ignored = loss.getIgnoreIndexAttr())
        use.replaced.push_back(ignored.getInt());
      collectUses(loss.getLabels(), use, uses);
    }
  });
  for (auto &[argument, all] : uses)
    bound(function, cast<BlockArgument>(argument), all);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "train.name");
    StringRef how = synthesized(name.getValue());
    if (!how.empty())
      function.setArgAttr(i, "train.synthesize", StringAttr::get(function.getContext(), how));
  }
}

} // namespace accum::import
