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

static LogicalResult refuse(Operation *op, StringRef dimension) {
  InFlightDiagnostic error = emitError(op->getLoc())
                             << "is computed in another form at another size of `" << dimension
                             << "`, so that the sizes cannot be compared [padding-reaches-loss]";
  error.attachNote() << "leave out sizes at which the graph folds, such as 1, or give one size";
  return failure();
}

/// A slice from the left of something that is as long as the slice at the other size.
static bool mayBeMissing(Operation *op, const DenseMap<Value, Value> &known) {
  auto slice = dyn_cast<nn::SliceOp>(op);
  auto isZero = [](int64_t start) { return start == 0; };
  auto isOne = [](int64_t stride) { return stride == 1; };
  return slice && llvm::all_of(slice.getStarts(), isZero) && llvm::all_of(slice.getStrides(), isOne) &&
         known.lookup(slice.getInput());
}

/// Calls `record` with each op of `first` and that of `second`, and `known` has their values.
static LogicalResult pairWith(func::FuncOp first, func::FuncOp second, StringRef dimension,
                              DenseMap<Value, Value> &known,
                              function_ref<void(Operation *, Operation *)> record) {
  if (first.getNumArguments() != second.getNumArguments())
    return refuse(first, dimension);
  for (auto [a, b] : llvm::zip(first.getArguments(), second.getArguments())) {
    if (!sameElementType(a, b))
      return refuse(first, dimension);
    known[a] = b;
  }
  auto next = bodyOf(second).begin(), end = bodyOf(second).end();
  for (Operation &op : bodyOf(first)) {
    bool isThere = next != end && isSame(&op, &*next, known);
    if (!isThere && !mayBeMissing(&op, known))
      return refuse(&op, dimension);
    if (!isThere)
      known[op.getResult(0)] = known.lookup(op.getOperand(0));
    else
      for (auto [a, b] : llvm::zip(op.getResults(), next->getResults()))
        known[a] = b;
    record(&op, isThere ? &*next++ : nullptr);
  }
  return next == end ? success() : refuse(&*next, dimension);
}

FailureOr<Lockstep> Lockstep::of(ArrayRef<ModuleOp> sizes, StringRef dimension) {
  Lockstep lockstep;
  for (ModuleOp size : sizes)
    lockstep.forwards.push_back(size.lookupSymbol<func::FuncOp>("forward"));
  for (func::FuncOp forward : lockstep.forwards) {
    DenseMap<Value, Value> known;
    if (failed(pairWith(lockstep.smallest(), forward, dimension, known,
                        [&](Operation *a, Operation *b) { lockstep.ops[a].push_back(b); })))
      return failure();
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
