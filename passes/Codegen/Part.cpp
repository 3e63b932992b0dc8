// SPDX-License-Identifier: Apache-2.0
// Grouping of results into parts.
#include "passes/Codegen/Part.h"
#include "dialects/Train/RowPitch.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace accum::codegen {

void Root::write(Emitter &emitter, ArrayRef<Index> at, Mask mask, Element what, Scope *scope) const {
  if (adds) {
    Element old = emitter.loadWritten(buffer(), at, mask, scope);
    Element both[] = {old, what};
    Scope *sum = emitter.unify(both);
    Value added = applyFunction(emitter.in(sum), nn::ElementwiseFn::add, {both[0].value, both[1].value});
    what = emitter.select({first, emitter.root()}, both[1], {added, sum});
  }
  emitter.store(buffer(), at, mask, what, scope);
}

void addTo(Emitter &emitter, const Buffer &buffer, ArrayRef<Index> at, Mask mask, Element what,
           Scope *scope) {
  Element both[] = {emitter.loadWritten(buffer, at, mask, scope), what};
  Scope *sum = emitter.unify(both);
  Value added = applyFunction(emitter.in(sum), nn::ElementwiseFn::add, {both[0].value, both[1].value});
  emitter.store(buffer, at, mask, {added, sum}, scope);
}

SmallVector<int64_t> significant(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> extents;
  llvm::copy_if(shape, std::back_inserter(extents), [](int64_t extent) { return extent != 1; });
  return extents;
}

/// Whether a result is stored in 16 bits, or read from such.
static bool isNarrow(const Root &root) {
  auto hasNarrow = [](Type type) {
    return getElementTypeOrSelf(type).isF16() || getElementTypeOrSelf(type).isBF16();
  };
  if (hasNarrow(root.value.getType()))
    return true;
  SetVector<Operation *> below;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(root.value, &below, options);
  return llvm::any_of(below, [&](Operation *op) { return llvm::any_of(op->getOperandTypes(), hasNarrow); });
}

int64_t sideLanes(ArrayRef<Root> roots, int64_t columns, bool anyWidth) {
  constexpr int64_t kWide = 4, kNarrow = 8;
  auto fits = [&](int64_t lanes) { return columns % lanes == 0 || (anyWidth && columns > lanes); };
  if (fits(kNarrow) && llvm::any_of(roots, isNarrow))
    return kNarrow;
  return fits(kWide) ? kWide : 1;
}

bool readsPadded(Value value, int64_t columns) {
  DenseSet<Value> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(open, op->getOperands());
    else if (pitchInKernel(next) != 0 && cast<RankedTensorType>(next.getType()).getShape().back() == columns)
      return true;
  }
  return false;
}

int64_t lastAxis(RankedTensorType type) {
  int64_t axis = type.getRank() - 1;
  while (axis >= 0 && type.getDimSize(axis) == 1)
    --axis;
  return axis;
}

/// Whether `row`'s value comes from a reduction that `full` needs too.
static bool shareReduction(Value row, Value full) {
  SetVector<Operation *> rows, fulls;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(row, &rows, options);
  (void)getBackwardSlice(full, &fulls, options);
  return llvm::any_of(rows, [&](Operation *op) { return isa<nn::ReduceOp>(op) && fulls.contains(op); });
}

static bool joins(const Root &root, const std::vector<Root> &group) {
  SmallVector<int64_t> own = significant(root.type().getShape());
  SmallVector<int64_t> shape = significant(group.front().type().getShape());
  auto useOf = [](const Root &root) {
    int64_t axis = lastAxis(root.type());
    return axis < 0 ? LaneUse::Free : laneUseOf(root.value, axis);
  };
  if (own == shape)
    return useOf(root) == useOf(group.front());
  bool isRow = own.size() + 1 == shape.size() && ArrayRef(own) == ArrayRef(shape).drop_back();
  bool isShared =
      llvm::any_of(group, [&](const Root &other) { return shareReduction(root.value, other.value); });
  return isRow && useOf(group.front()) == LaneUse::Free && isShared;
}

std::vector<std::unique_ptr<Part>> partsOf(ArrayRef<Root> roots, Machine machine) {
  std::vector<std::unique_ptr<Part>> parts;
  if (machine.gpu)
    if (auto tiles = makeTilePart(roots)) {
      parts.push_back(std::move(tiles));
      return parts;
    }
  std::vector<std::vector<Root>> groups;
  // Of several ranks the highest first: results of one number per row join the loops of their rows.
  SmallVector<std::pair<int64_t, size_t>> order;
  for (auto [number, root] : llvm::enumerate(roots))
    order.push_back({-static_cast<int64_t>(significant(root.type().getShape()).size()), number});
  llvm::sort(order);
  for (auto [rank, number] : order) {
    const Root &root = roots[number];
    if (root.type().getNumElements() == 0)
      continue;
    if (auto scatter = root.value.getDefiningOp<nn::ScatterAddOp>()) {
      parts.push_back(makeScatterPart(root, scatter, machine));
    } else if (auto scatter = root.value.getDefiningOp<nn::ScatterElementsAddOp>()) {
      parts.push_back(makeScatterElementsPart(root, scatter));
    } else if (auto sum = root.value.getDefiningOp<nn::CumSumOp>()) {
      parts.push_back(makeCumSumPart(root, sum));
    } else {
      auto group = llvm::find_if(groups, [&](const auto &group) { return joins(root, group); });
      if (group == groups.end())
        group = groups.insert(groups.end(), std::vector<Root>());
      group->push_back(root);
    }
  }
  for (std::vector<Root> &group : groups)
    parts.push_back(makeMapPart(std::move(group), machine));
  return parts;
}

} // namespace accum::codegen
