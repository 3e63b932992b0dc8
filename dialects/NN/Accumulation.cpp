// SPDX-License-Identifier: Apache-2.0
// Totals, row masks, shared terms, the batch size.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNAccumulation.cpp.inc"

namespace accum::nn {

void detail::addAccumulationOps(Dialect *dialect) {
  RegisteredOperationName::insert<TotalOp>(*dialect);
  RegisteredOperationName::insert<MaskRowsOp>(*dialect);
  RegisteredOperationName::insert<ShareOp>(*dialect);
  RegisteredOperationName::insert<BatchSizeOp>(*dialect);
}

LogicalResult TotalOp::verify() { return verifySameSlab(*this, getInput()); }

LogicalResult MaskRowsOp::verify() {
  auto valid = cast<RankedTensorType>(getValid().getType()),
       input = cast<RankedTensorType>(getInput().getType());
  if (valid.getRank() != 1 || !valid.getElementType().isInteger(1))
    return emitOpError("takes one i1 per sample, got ") << slabOf(valid);
  auto dim = static_cast<int64_t>(getDim()), outer = static_cast<int64_t>(getOuter());
  if (dim < 0 || dim >= input.getRank())
    return emitOpError("has no axis ") << dim << " in " << slabOf(input);
  int64_t samples = valid.getDimSize(0);
  if (outer < 1 || input.getDimSize(dim) % outer != 0 || input.getDimSize(dim) / outer % samples != 0)
    return emitOpError("cannot cut ")
           << input.getDimSize(dim) << " rows into " << outer << " blocks of " << samples << " samples";
  return verifySameSlab(*this, getInput());
}

LogicalResult ShareOp::verify() {
  if (getSource().size() > 1)
    return emitOpError("has one source, the number of the first row");
  return verifySameSlab(*this, getInput());
}

LogicalResult BatchSizeOp::verify() {
  auto type = slabOf(getType());
  return type.getRank() == 0 && type.getElementType().isInteger(64)
             ? success()
             : LogicalResult(emitOpError("is tensor<i64>, not ") << type);
}

} // namespace accum::nn
