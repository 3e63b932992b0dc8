// SPDX-License-Identifier: Apache-2.0
// Registration of the nn dialect and the attributes that say where the batch is.
#include "dialects/NN/NNDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/NN/NNDialect.cpp.inc"
#include "dialects/NN/NNEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.cpp.inc"

using namespace mlir;

namespace accum::nn {

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/NN/NNAttrs.cpp.inc"
      >();
  detail::addAccumulationOps(this);
  detail::addAttentionOps(this);
  detail::addContractionOps(this);
  detail::addElementwiseOps(this);
  detail::addGatherOps(this);
  detail::addLossOps(this);
  detail::addNormOps(this);
  detail::addRandomOps(this);
  detail::addReductionOps(this);
  detail::addShapeOps(this);
}

LogicalResult ExtentAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  for (int64_t dim : getDims())
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
      return emitError() << "batch axis " << dim << " is outside a tensor of rank " << shape.size();
  return success();
}

LogicalResult BatchedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                          function_ref<InFlightDiagnostic()> emitError) const {
  if (getDim() < 0 || getDim() >= static_cast<int64_t>(shape.size()))
    return emitError() << "batch axis " << getDim() << " is outside a tensor of rank " << shape.size();
  if (getOuter() < 1 || shape[getDim()] % getOuter() != 0)
    return emitError() << "outer = " << getOuter() << " does not divide the slab's extent "
                       << shape[getDim()];
  return success();
}

RankedTensorType slabOf(Type type) { return withEncoding(type, {}); }

RankedTensorType withEncoding(Type type, Attribute encoding) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(), encoding);
}

bool sameSlabs(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return slabOf(std::get<0>(pair)) == slabOf(std::get<1>(pair));
         });
}

LogicalResult verifySameSlab(Operation *op, Value operand) {
  RankedTensorType from = slabOf(operand.getType()), to = slabOf(op->getResult(0).getType());
  return from == to ? success()
                    : LogicalResult(op->emitOpError("makes ")
                                    << to << " of " << from << ", which it only passes on");
}

FailureOr<SmallVector<int64_t>> broadcastShapes(TypeRange types) {
  SmallVector<int64_t> shape;
  for (Type type : types) {
    ArrayRef<int64_t> other = cast<RankedTensorType>(type).getShape();
    if (other.size() > shape.size())
      shape.insert(shape.begin(), other.size() - shape.size(), 1);
    size_t shift = shape.size() - other.size();
    for (auto [i, extent] : llvm::enumerate(other)) {
      int64_t &out = shape[shift + i];
      if (extent != 1 && out != 1 && extent != out)
        return failure();
      out = out == 1 ? extent : out;
    }
  }
  return shape;
}

} // namespace accum::nn
