// SPDX-License-Identifier: Apache-2.0
// One graph at several sizes, op by op.
#include "passes/Lengths/Lockstep.h"
#include "dialects/NN/NNDialect.h"

using namespace mlir;

namespace accum::lengths {

static Block &bodyOf(func::FuncOp forward) { return forward.getBody().front(); }

Value Lockstep::at(Value value, size_t size) const { return values.find(value)->second[size]; }

SmallVector<int64_t> Lockstep::extents(Value value, int64_t axis) const {
  SmallVector<int64_t> extents;
  for (size_t size = 0; size < count(); ++size)
    extents.push_back(cast<RankedTensorType>(at(value, size).getType()).getDimSize(axis));
  return extents;
}

bool Lockstep::isRagged(Value value, int64_t axis) const { return !llvm::all_equal(extents(value, axis)); }

/// Attributes that may follow the size: contents, and what counts rows or elements.
static bool mayDiffer(Operation *op, StringRef name) {
  return name == "value" || name == "outer" || name == "rows" || name == "starts" || name == "low" ||
         (isa<nn::TopKOp>(op) && name == "k");
}

static bool sameAttributes(Operation *a, Operation *b) {
  DictionaryAttr first = a->getAttrDictionary(), second = b->getAttrDictionary();
  if (first.size() != second.size())
    return false;
  return llvm::all_of(first, [&](NamedAttribute each) {
    return mayDiffer(a, each.getName()) || second.get(each.getName()) == each.getValue();
  });
}

static bool sameElementType(Value a, Value b) {
  auto first = cast<RankedTensorType>(a.getType()), second = cast<RankedTensorType>(b.getType());
  return first.getElementType() == second.getElementType() && first.getRank() == second.getRank();
}

/// `b` is what `a` is, at another size; `known` are the values that were paired before.
static bool isSame(Operation *a, Operation *b, const DenseMap<Value, Value> &known) {
  if (a->getName() != b->getName() || a->getNumOperands() != b->getNumOperands() || !sameAttributes(a, b))
    return false;
  for (auto [first, second] : llvm::zip(a->getOperands(), b->getOperands()))
    if (known.lookup(first) != second)
      return false;
  return llvm::all_of(llvm::zip(a->getResults(), b->getResults()),
                      [](auto pair) { return sameElementType(std::get<0>(pair), std::get<1>(pair)); });
}

/// A slice from the left of something that is as long as the slice at the other size.
static bool mayBeMissing(Operation *op, const DenseMap<Value, Value> &known) {
  auto slice = dyn_cast<nn::SliceOp>(op);
  auto isZero = [](int64_t start) { return start == 0; };
  auto isOne = [](int64_t stride) { return stride == 1; };
  return slice && llvm::all_of(slice.getStarts(), isZero) && llvm::all_of(slice.getStrides(), isOne) &&
         known.lookup(slice.getInput());
}

/// Calls `record` with each op of `first` and that of `second`, and `known` has their values. Returns the
/// first op that has no other; null where all have.
static Operation *pairWith(func::FuncOp first, func::FuncOp second, DenseMap<Value, Value> &known,
                           function_ref<void(Operation *, Operation *)> record) {
  if (first.getNumArguments() != second.getNumArguments())
    return first;
  for (auto [a, b] : llvm::zip(first.getArguments(), second.getArguments())) {
    if (!sameElementType(a, b))
      return first;
    known[a] = b;
  }
  auto next = bodyOf(second).begin(), end = bodyOf(second).end();
  for (Operation &op : bodyOf(first)) {
    bool isThere = next != end && isSame(&op, &*next, known);
    if (!isThere && !mayBeMissing(&op, known))
      return &op;
    if (!isThere)
      known[op.getResult(0)] = known.lookup(op.getOperand(0));
    else
      for (auto [a, b] : llvm::zip(op.getResults(), next->getResults()))
        known[a] = b;
    record(&op, isThere ? &*next++ : nullptr);
  }
  return next == end ? nullptr : &*next;
}

std::optional<Lockstep> Lockstep::of(ArrayRef<func::FuncOp> sizes, Operation *&different) {
  Lockstep lockstep;
  llvm::append_range(lockstep.forwards, sizes);
  for (func::FuncOp forward : lockstep.forwards) {
    DenseMap<Value, Value> known;
    different = pairWith(lockstep.smallest(), forward, known,
                         [&](Operation *a, Operation *b) { lockstep.ops[a].push_back(b); });
    if (different)
      return std::nullopt;
    for (auto [a, b] : known)
      lockstep.values[a].push_back(b);
  }
  for (Value argument : lockstep.smallest().getArguments())
    for (int64_t axis = 0; axis < cast<RankedTensorType>(argument.getType()).getRank(); ++axis)
      if (lockstep.dimension.empty() && lockstep.isRagged(argument, axis))
        lockstep.dimension = lockstep.extents(argument, axis);
  return lockstep;
}

} // namespace accum::lengths
