// SPDX-License-Identifier: Apache-2.0
// Losses: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNLoss.cpp.inc"

namespace accum::nn {

void detail::addLossOps(Dialect *dialect) {
  RegisteredOperationName::insert<CrossEntropyOp>(*dialect);
  RegisteredOperationName::insert<CrossEntropyGradOp>(*dialect);
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto logits = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  auto labels = cast<RankedTensorType>(adaptor.getOperands()[1].getType());
  if (logits.getRank() == 0 || logits.getShape().drop_back() != labels.getShape())
    return emitOptionalError(location, "logits are not labels' shape plus a last axis of classes");
  if (!isa<FloatType>(logits.getElementType()) || !labels.getElementType().isInteger())
    return emitOptionalError(location, "logits are not floats, or labels not integers");
  types.append(2, RankedTensorType::get(labels.getShape(), logits.getElementType()));
  return success();
}

bool CrossEntropyOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult CrossEntropyGradOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto logits = slabOf(adaptor.getOperands()[0].getType());
  for (Value rows : adaptor.getOperands().drop_front())
    if (logits.getRank() == 0 || slabOf(rows.getType()).getShape() != logits.getShape().drop_back())
      return emitOptionalError(location, "labels, lse and dloss have one number for each row of logits");
  types.push_back(slabOf(adaptor.getOperands()[0].getType()));
  return success();
}

bool CrossEntropyGradOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

} // namespace accum::nn
