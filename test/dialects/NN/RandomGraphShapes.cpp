// SPDX-License-Identifier: Apache-2.0
// Random placed graphs: reductions, layouts, indexed reads.
#include "dialects/NN/Views.h"
#include "test/dialects/NN/RandomGraph.h"

using namespace mlir;

namespace accum::test {

/// Sometimes asks for the batch on some axis, as import would.
RankedTensorType RandomGraph::withRandomExtent(ArrayRef<int64_t> shape, Type element) {
  Attribute encoding;
  if (!shape.empty() && pick(2))
    encoding = nn::ExtentAttr::get(builder.getContext(), {pick(shape.size())});
  return RankedTensorType::get(shape, element, encoding);
}

Operation *RandomGraph::makeReduction() {
  Value input = pickValue([](Value v) { return isa<FloatType>(nn::tensorType(v).getElementType()); });
  int64_t rank = nn::tensorType(input).getRank();
  if (rank == 0)
    return nullptr;
  int64_t axis = pick(rank);
  auto kind = static_cast<nn::ReduceKind>(pick(4));
  SmallVector<int64_t> shape(nn::tensorType(input).getShape());
  Location loc = builder.getUnknownLoc();
  switch (pick(5)) {
  case 0:
    shape.erase(shape.begin() + axis);
    return nn::ArgReduceOp::create(builder, loc, RankedTensorType::get(shape, builder.getI64Type()),
                                   pick(2) ? nn::ReduceKind::max : nn::ReduceKind::min, input, axis);
  case 1: {
    bool log = pick(3) == 0; // never exclusive
    return nn::CumSumOp::create(builder, loc, nn::slabOf(input.getType()), input, axis, !log && pick(2) == 0,
                                pick(2) == 0, log);
  }
  case 2: {
    int64_t k = shape[axis] = 1 + pick(shape[axis]);
    auto element = nn::tensorType(input).getElementType();
    return nn::TopKOp::create(builder, loc, RankedTensorType::get(shape, element),
                              RankedTensorType::get(shape, builder.getI64Type()), input, axis, k,
                              pick(2) == 0);
  }
  default: {
    SmallVector<int64_t> axes;
    for (int64_t i = 0; i < rank; ++i)
      if (pick(2))
        axes.push_back(i);
    return nn::ReduceOp::create(builder, loc, pick(2) ? nn::ReduceKind::sum : kind, input, axes);
  }
  }
}

/// Random factors of the number of elements, in random order, with some ones.
Operation *RandomGraph::makeReshape() {
  Value input = pickValue([](Value) { return true; });
  SmallVector<int64_t> shape;
  int64_t rest = nn::tensorType(input).getNumElements();
  for (int64_t factor = 2; rest > 1;) {
    if (rest % factor != 0) {
      ++factor;
      continue;
    }
    rest /= factor;
    if (!shape.empty() && pick(2))
      shape[pick(shape.size())] *= factor;
    else
      shape.insert(shape.begin() + pick(shape.size() + 1), factor);
  }
  if (pick(2) || shape.empty())
    shape.insert(shape.begin() + pick(shape.size() + 1), 1);
  return nn::ReshapeOp::create(builder, builder.getUnknownLoc(),
                               withRandomExtent(shape, nn::tensorType(input).getElementType()), input);
}

Operation *RandomGraph::makeLayout() {
  Value input = pickValue([](Value) { return true; });
  ArrayRef<int64_t> shape = nn::tensorType(input).getShape();
  Location loc = builder.getUnknownLoc();
  if (shape.empty())
    return nullptr;
  int64_t kind = pick(3);
  if (kind == 0) {
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(shape.size()));
    std::shuffle(perm.begin(), perm.end(), random);
    return nn::TransposeOp::create(builder, loc, input, perm);
  }
  if (kind == 1) {
    int64_t axis = pick(shape.size());
    Value other = pickValue([&](Value v) {
      SmallVector<int64_t> theirs(nn::tensorType(v).getShape());
      if (theirs.size() == shape.size())
        theirs[axis] = shape[axis];
      return ArrayRef(theirs) == shape &&
             nn::tensorType(v).getElementType() == nn::tensorType(input).getElementType();
    });
    return nn::ConcatOp::create(builder, loc, ValueRange{input, other}, static_cast<uint64_t>(axis));
  }
  SmallVector<int64_t> starts, strides, extents;
  for (int64_t extent : shape) {
    int64_t start = pick(2) ? 0 : pick(extent), stride = 1 + pick(2);
    starts.push_back(start);
    strides.push_back(stride);
    extents.push_back(pick(2) ? (extent - start + stride - 1) / stride : 1);
  }
  return nn::SliceOp::create(builder, loc,
                             RankedTensorType::get(extents, nn::tensorType(input).getElementType()), input,
                             starts, strides);
}

Operation *RandomGraph::makeBroadcast() {
  Value input = pickValue([](Value) { return true; });
  SmallVector<int64_t> shape(nn::tensorType(input).getShape());
  for (int64_t &extent : shape)
    extent = extent == 1 && pick(2) ? 2 : extent;
  if (shape.size() < 3)
    shape.insert(shape.begin(), 1 + pick(2));
  return nn::BroadcastOp::create(builder, builder.getUnknownLoc(),
                                 withRandomExtent(shape, nn::tensorType(input).getElementType()), input);
}

Operation *RandomGraph::makePad() {
  Value input = pickFloat();
  SmallVector<int64_t> shape(nn::tensorType(input).getShape()), low;
  for (int64_t &extent : shape) {
    low.push_back(pick(3) ? 0 : 1);
    extent += low.back() + (pick(3) ? 0 : 1);
  }
  Value value = constant(pick(2), nn::tensorType(input).getElementType());
  return nn::PadOp::create(builder, builder.getUnknownLoc(),
                           RankedTensorType::get(shape, nn::tensorType(input).getElementType()), input, value,
                           low);
}

/// Indices brought into range by mod; placed at once, since they are operands.
Value RandomGraph::indicesBelow(Value indices, int64_t bound) {
  Value modulus = constant(bound, builder.getI64Type());
  auto op = nn::ElementwiseOp::create(builder, builder.getUnknownLoc(), nn::ElementwiseFn::mod,
                                      ValueRange{indices, modulus});
  nn::Placement placement = nn::Placement::of(indices.getType());
  op.getResult().setType(placement.place(op.getType()));
  return op;
}

static bool isIndex(Value value) {
  // Sums of indices have no remainder of their own.
  return nn::tensorType(value).getElementType().isInteger(64) &&
         !nn::Placement::of(value.getType()).isPartial();
}

Operation *RandomGraph::makeGather() {
  Value input = pickFloat(), indices = pickValue(isIndex);
  ArrayRef<int64_t> shape = nn::tensorType(input).getShape();
  if (shape.empty())
    return nullptr;
  int64_t axis = pick(shape.size()), batchDims = 0;
  for (auto [a, b] : llvm::zip(shape.take_front(axis), nn::tensorType(indices).getShape()))
    if (a == b && batchDims < axis && pick(2))
      ++batchDims;
    else
      break;
  Location loc = builder.getUnknownLoc();
  if (pick(2))
    return nn::GatherOp::create(builder, loc, input, indicesBelow(indices, shape[axis]), axis, batchDims);
  // Its transpose, where the input's shape is that of updates [b, l, i, t].
  int64_t indexAxes = nn::tensorType(indices).getRank() - batchDims;
  if (shape.drop_front(axis).take_front(indexAxes) !=
      nn::tensorType(indices).getShape().drop_front(batchDims))
    return nullptr;
  SmallVector<int64_t> target(shape.take_front(axis));
  target.push_back(3);
  llvm::append_range(target, shape.drop_front(axis + indexAxes));
  return nn::ScatterAddOp::create(builder, loc,
                                  RankedTensorType::get(target, nn::tensorType(input).getElementType()),
                                  indicesBelow(indices, 3), input, axis, batchDims);
}

Operation *RandomGraph::makeGatherElements() {
  Value input = pickFloat();
  ArrayRef<int64_t> shape = nn::tensorType(input).getShape();
  Value indices = pickValue(
      [&](Value v) { return isIndex(v) && nn::tensorType(v).getRank() == nn::tensorType(input).getRank(); });
  if (shape.empty() || !indices)
    return nullptr;
  int64_t axis = pick(shape.size());
  SmallVector<int64_t> theirs(nn::tensorType(indices).getShape());
  bool sameShape = ArrayRef(theirs) == shape;
  theirs[axis] = shape[axis];
  if (ArrayRef(theirs) != shape)
    return nullptr;
  Location loc = builder.getUnknownLoc();
  Type element = nn::tensorType(input).getElementType();
  if (!sameShape || pick(2))
    return nn::GatherElementsOp::create(builder, loc,
                                        RankedTensorType::get(nn::tensorType(indices).getShape(), element),
                                        input, indicesBelow(indices, shape[axis]), axis);
  theirs[axis] = 3;
  return nn::ScatterElementsAddOp::create(builder, loc, RankedTensorType::get(theirs, element),
                                          indicesBelow(indices, 3), input, axis);
}

Operation *RandomGraph::makeCreation() {
  SmallVector<int64_t> shape{1 + pick(2), 1 + pick(3)};
  RankedTensorType type = withRandomExtent(shape, builder.getF64Type());
  if (pick(2))
    return nn::IotaOp::create(builder, builder.getUnknownLoc(), type, pick(2));
  auto value = DenseElementsAttr::get(nn::slabOf(type), Attribute(builder.getF64FloatAttr(0.5)));
  return nn::ConstantOp::create(builder, builder.getUnknownLoc(), type, value);
}

} // namespace accum::test
