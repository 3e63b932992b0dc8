// SPDX-License-Identifier: Apache-2.0
// The mask of a selection, and values with something harmless in the rows that it leaves out.
#include "compiler/Import/rules/Selection.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace accum::import {

GraphValue select(Emitter &emit, const GraphValue &mask) {
  auto selection = std::make_shared<Selection>();
  selection->shape = mask.shape;
  Volume volume = volumeOf(mask.shape);
  if (volume.power != 1 || volume.count == 0 || mask.content || mask.bounds)
    throw Refusal{
        "data-dependent-shape",
        "finds positions in a mask " + toString(mask.shape) +
            (volume.power == 1 ? " that is known" : " that does not have one batch axis"),
        {"a mask that selects is computed from the samples, one element for each row", wayOutOfExperts}};
  Value flat = emit.reshape(mask.whole(emit), {Extent::ofBatch(volume.count)});
  selection->mask = emit.cast(flat, emit.builder.getI1Type());
  GraphValue positions;
  positions.dtype = DType::Int64;
  positions.shape = {Extent::fixed(mask.rank()), Extent::ofBatch(volume.count)};
  positions.selection = selection;
  positions.role = GraphValue::Role::Positions;
  return positions;
}

Value countOf(Emitter &emit, const Selection &selection) {
  Value ones = emit.cast(selection.mask, emit.builder.getI64Type());
  return emit.reduce(nn::ReduceKind::sum, ones, {0});
}

Value filled(Emitter &emit, const GraphValue &x, double other) {
  Value value = x.whole(emit), mask = x.selection->mask;
  int64_t rows = x.selection->rows(), parts = x.shape[0].count / rows;
  if (parts != 1) {
    Shape split{Extent::ofBatch(rows), Extent::fixed(1)}, whole = split;
    whole[1] = Extent::fixed(parts);
    mask = emit.reshape(emit.broadcastTo(emit.reshape(mask, split), whole), {x.shape[0]});
  }
  Shape column(x.shape.size(), Extent::fixed(1));
  column[0] = x.shape[0];
  return emit.select(emit.reshape(mask, column), value, emit.scalar(elementTypeOf(value), other));
}

/// Looks at `budget` ops at most.
static bool computesSame(Value a, Value b, int &budget) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right || budget-- <= 0 || left->getName() != right->getName() || a.getType() != b.getType() ||
      left->getAttrDictionary() != right->getAttrDictionary() ||
      left->getPropertiesAsAttribute() != right->getPropertiesAsAttribute() || !isMemoryEffectFree(left) ||
      left->getNumOperands() != right->getNumOperands() ||
      cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  for (auto [x, y] : llvm::zip_equal(left->getOperands(), right->getOperands()))
    if (!computesSame(x, y, budget))
      return false;
  return true;
}

bool isSame(const Selection &a, const Selection &b) {
  int budget = 64;
  return a.shape == b.shape && computesSame(a.mask, b.mask, budget);
}

} // namespace accum::import
