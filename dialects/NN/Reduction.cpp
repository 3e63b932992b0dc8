// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: shapes.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNReduction.cpp.inc"

namespace accum::nn {

void detail::addReductionOps(Dialect *dialect) {
  RegisteredOperationName::insert<ReduceOp>(*dialect);
  RegisteredOperationName::insert<ArgReduceOp>(*dialect);
  RegisteredOperationName::insert<CumSumOp>(*dialect);
  RegisteredOperationName::insert<TopKOp>(*dialect);
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(input.getShape()))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      shape.push_back(extent);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

bool ReduceOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) { return sameSlabs(l, r); }

LogicalResult ReduceOp::verify() {
  int64_t rank = cast<RankedTensorType>(getInput().getType()).getRank(), previous = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= previous || axis >= rank)
      return emitOpError("axes are not ascending axes of the input");
    previous = axis;
  }
  return success();
}

} // namespace accum::nn
