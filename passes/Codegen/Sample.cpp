// SPDX-License-Identifier: Apache-2.0
// Elements of ops that know which sample they belong to: row masks, shared terms.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

Element Emitter::maskRows(nn::MaskRowsOp op, ArrayRef<Index> at, Mask mask) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t samples = cast<RankedTensorType>(op.getValid().getType()).getNumElements();
  int64_t extent = type.getDimSize(op.getDim());
  int64_t rows = extent / (op.getOuter() * samples);
  Index sample = samplePosition(at[op.getDim()], extent, op.getOuter(), rows).sample;
  Element zero = constant(computeType(type.getElementType()), 0);
  return select(element(op.getValid(), {sample}, mask), element(op.getInput(), at, mask), zero);
}

Element Emitter::share(nn::ShareOp op, ArrayRef<Index> at, Mask mask) {
  if (op.getSource().size() != 1) {
    refused = op;
    return {};
  }
  Element firstRow = element(op.getSource()[0], {}, {});
  Value zero = constant(firstRow.value.getType(), 0).value;
  Value isFirst = arith::CmpIOp::create(in(firstRow.scope), arith::CmpIPredicate::eq, firstRow.value, zero);
  Type type = computeType(cast<RankedTensorType>(op.getType()).getElementType());
  return select({isFirst, firstRow.scope}, element(op.getInput(), at, mask), constant(type, 0));
}

} // namespace accum::codegen
