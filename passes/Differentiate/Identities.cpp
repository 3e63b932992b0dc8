// SPDX-License-Identifier: Apache-2.0
#include "passes/Differentiate/Identities.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"

using namespace mlir;

namespace accum {
namespace {

/// What a table has on its diagonal, and off it.
struct Diagonal {
  Attribute on, beside;
};

/// As bits, which the elements of all types are.
template <class Number> bool hasDiagonal(DenseElementsAttr table, int64_t extent) {
  auto values = table.getValues<Number>();
  Number on = values[0], beside = values[1];
  int64_t at = 0;
  for (const Number &value : values) {
    if (value != (at / extent == at % extent ? on : beside))
      return false;
    ++at;
  }
  return true;
}

std::optional<Diagonal> diagonalOf(nn::ConstantOp op, int64_t elements) {
  auto table = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!table || table.isSplat() || table.getNumElements() < elements)
    return std::nullopt;
  ArrayRef<int64_t> shape = table.getType().getShape();
  int64_t extent = shape.back();
  if (shape.size() < 2 || shape[shape.size() - 2] != extent || table.getNumElements() != extent * extent)
    return std::nullopt;
  Type element = table.getElementType();
  bool is = element.isInteger(1) ? hasDiagonal<bool>(table, extent)
            : element.isF32()    ? hasDiagonal<float>(table, extent)
            : element.isF64()    ? hasDiagonal<double>(table, extent)
                                 : false;
  if (!is)
    return std::nullopt;
  return Diagonal{table.getValues<Attribute>()[0], table.getValues<Attribute>()[1]};
}

/// Of row and column: whether they are the same.
Value comparison(OpBuilder &builder, nn::ConstantOp op) {
  ArrayRef<int64_t> shape = nn::slabOf(op.getType()).getShape();
  nn::Placement placement = nn::Placement::of(op.getType());
  Type integer = builder.getI64Type();
  SmallVector<Value> numbers;
  for (size_t dropped : {shape.size() - 1, shape.size() - 2}) {
    SmallVector<int64_t> line(shape);
    line[dropped] = 1;
    auto axis = static_cast<int64_t>(2 * shape.size() - 3 - dropped);
    numbers.push_back(nn::IotaOp::create(builder, op.getLoc(),
                                         placement.place(RankedTensorType::get(line, integer)), axis));
  }
  return nn::ElementwiseOp::create(
      builder, op.getLoc(), TypeRange{placement.place(RankedTensorType::get(shape, builder.getI1Type()))},
      nn::ElementwiseFnAttr::get(builder.getContext(), nn::ElementwiseFn::eq), numbers);
}

} // namespace

void expandIdentities(Block &block, int64_t elements) {
  for (auto op : llvm::make_early_inc_range(block.getOps<nn::ConstantOp>())) {
    std::optional<Diagonal> diagonal = diagonalOf(op, elements);
    if (!diagonal)
      continue;
    OpBuilder builder(op);
    auto scalar = RankedTensorType::get({}, nn::slabOf(op.getType()).getElementType());
    SmallVector<Value> operands = {comparison(builder, op)};
    for (Attribute number : {diagonal->on, diagonal->beside})
      operands.push_back(nn::ConstantOp::create(builder, op.getLoc(),
                                                nn::Placement::of(op.getType()).place(scalar),
                                                DenseElementsAttr::get(scalar, number)));
    Value table = nn::ElementwiseOp::create(
        builder, op.getLoc(), TypeRange{op.getType()},
        nn::ElementwiseFnAttr::get(builder.getContext(), nn::ElementwiseFn::select), operands);
    op.getResult().replaceAllUsesWith(table);
  }
}

} // namespace accum
