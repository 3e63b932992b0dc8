// SPDX-License-Identifier: Apache-2.0
// Dropout.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.cpp.inc"

namespace accum::nn {

void detail::addRandomOps(Dialect *dialect) { RegisteredOperationName::insert<DropoutOp>(*dialect); }

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio <= 1))
    return emitOpError("drops a share of ") << ratio << ", expected one in [0, 1]";
  if (!getSource().empty() && getSource().size() != 2)
    return emitOpError("has two sources, seed and step, and the number of the first row");
  auto input = cast<RankedTensorType>(getInput().getType());
  if (getDim() && static_cast<int64_t>(*getDim()) >= input.getRank())
    return emitOpError("has no axis ") << *getDim() << " in " << slabOf(input);
  return verifySameSlab(*this, getInput());
}

} // namespace accum::nn
