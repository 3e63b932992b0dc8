// SPDX-License-Identifier: Apache-2.0
// One rule an op: along which axis of which operand the rows of its results lie.
#include "passes/Differentiate/TileRanges.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

static ArrayRef<int64_t> extentsOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

static Range along(int64_t axis, Range range) { return {axis, range.start, range.size}; }

/// Right-aligned; an extent of 1 is read by all rows.
static OperandRanges broadcastRanges(Operation *op, Range range) {
  ArrayRef<int64_t> result = extentsOf(op->getResult(0));
  OperandRanges ranges;
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> shape = extentsOf(operand);
    int64_t axis = range.axis - static_cast<int64_t>(result.size() - shape.size());
    bool isSpread = axis < 0 || shape[axis] != result[range.axis];
    ranges.push_back(isSpread ? std::nullopt : std::optional(along(axis, range)));
  }
  return ranges;
}

static OperandRanges contractRanges(nn::ContractOp op, Range range) {
  char letter = op.resultLetters()[range.axis];
  OperandRanges ranges;
  for (StringRef letters : {op.lhsLetters(), op.rhsLetters()}) {
    size_t axis = letters.find(letter);
    ranges.push_back(axis == StringRef::npos ? std::nullopt
                                             : std::optional(along(static_cast<int64_t>(axis), range)));
  }
  return ranges;
}

/// The axis of the input after as many elements; one of the two extents divides the other.
static FailureOr<OperandRanges> reshapeRanges(nn::ReshapeOp op, Range range) {
  ArrayRef<int64_t> from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  int64_t before = 1, known = 1, extent = to[range.axis];
  for (int64_t size : to.take_front(range.axis))
    before *= size;
  size_t axis = 0;
  while (axis < from.size() && (known < before || (from[axis] == 1 && extent > 1)))
    known *= from[axis++];
  if (axis == from.size() || known != before)
    return failure();
  int64_t source = from[axis];
  if (source % extent == 0) {
    int64_t inner = source / extent;
    return OperandRanges{Range{static_cast<int64_t>(axis), range.start * inner, range.size * inner}};
  }
  int64_t inner = extent / source;
  if (extent % source != 0 || range.start % inner != 0 || range.size % inner != 0)
    return failure();
  return OperandRanges{Range{static_cast<int64_t>(axis), range.start / inner, range.size / inner}};
}

static OperandRanges reduceRanges(nn::ReduceOp op, Range range) {
  int64_t axis = range.axis;
  for (int64_t reduced : op.getAxes()) // ascending
    axis += reduced <= axis ? 1 : 0;
  return {along(axis, range)};
}

static OperandRanges gatherRanges(nn::GatherOp op, Range range) {
  auto axis = static_cast<int64_t>(op.getAxis()), batch = static_cast<int64_t>(op.getBatchDims());
  int64_t picked = static_cast<int64_t>(extentsOf(op.getIndices()).size()) - batch;
  if (range.axis < batch)
    return {range, range};
  if (range.axis < axis)
    return {range, std::nullopt};
  if (range.axis < axis + picked)
    return {std::nullopt, along(range.axis - axis + batch, range)};
  return {along(range.axis - picked + 1, range), std::nullopt};
}

/// All operands have the axis, and it is none that the op works along.
static FailureOr<OperandRanges> besides(Operation *op, int64_t worked, Range range) {
  if (range.axis == worked)
    return failure();
  return OperandRanges(op->getNumOperands(), range);
}

static FailureOr<OperandRanges> sliceRanges(nn::SliceOp op, Range range) {
  if (op.getStrides()[range.axis] != 1)
    return failure();
  return OperandRanges{Range{range.axis, op.getStarts()[range.axis] + range.start, range.size}};
}

static FailureOr<OperandRanges> padRanges(nn::PadOp op, Range range) {
  if (extentsOf(op.getInput())[range.axis] != extentsOf(op.getResult())[range.axis])
    return failure();
  return OperandRanges{range, std::nullopt};
}

FailureOr<OperandRanges> operandRanges(Operation *op, Range range) {
  using Ranges = FailureOr<OperandRanges>;
  return TypeSwitch<Operation *, Ranges>(op)
      .Case<nn::ElementwiseOp, nn::BroadcastOp>([&](Operation *each) { return broadcastRanges(each, range); })
      .Case([&](nn::CastOp) { return OperandRanges{range}; })
      .Case([&](nn::ContractOp each) { return contractRanges(each, range); })
      .Case([&](nn::ReshapeOp each) { return reshapeRanges(each, range); })
      .Case([&](nn::TransposeOp each) { return OperandRanges{along(each.getPerm()[range.axis], range)}; })
      .Case([&](nn::ReduceOp each) { return reduceRanges(each, range); })
      .Case([&](nn::ArgReduceOp each) {
        auto axis = static_cast<int64_t>(each.getAxis());
        return OperandRanges{along(range.axis + (axis <= range.axis ? 1 : 0), range)};
      })
      .Case<nn::SoftmaxOp, nn::CumSumOp, nn::ConcatOp, nn::GatherElementsOp>(
          [&](auto each) { return besides(each, static_cast<int64_t>(each.getAxis()), range); })
      .Case([&](nn::CrossEntropyOp) { return OperandRanges{range, range}; })
      .Case([&](nn::GatherOp each) { return gatherRanges(each, range); })
      .Case([&](nn::SliceOp each) { return sliceRanges(each, range); })
      .Case([&](nn::PadOp each) { return padRanges(each, range); })
      .Case<nn::ConstantOp, nn::IotaOp>([&](Operation *) { return OperandRanges{}; })
      .Default([](Operation *) { return failure(); });
}

RankedTensorType partType(Type type, Range range) {
  auto whole = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(whole.getShape());
  shape[range.axis] = range.size;
  return RankedTensorType::get(shape, whole.getElementType(), whole.getEncoding());
}

/// Counts from the range's first row.
static Operation *buildIota(OpBuilder &builder, nn::IotaOp op, Range range) {
  RankedTensorType type = partType(op.getType(), range);
  auto iota = nn::IotaOp::create(builder, op.getLoc(), type, op.getDim());
  if (static_cast<int64_t>(op.getDim()) != range.axis || range.start == 0)
    return iota;
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Attribute first = type.getElementType().isInteger()
                        ? Attribute(builder.getIntegerAttr(type.getElementType(), range.start))
                        : builder.getFloatAttr(type.getElementType(), static_cast<double>(range.start));
  Value start = nn::ConstantOp::create(builder, op.getLoc(), nn::Placement::of(type).place(scalar),
                                       DenseElementsAttr::get(scalar, first));
  auto fn = nn::ElementwiseFnAttr::get(builder.getContext(), nn::ElementwiseFn::add);
  return nn::ElementwiseOp::create(builder, op.getLoc(), TypeRange{type}, fn, ValueRange{iota, start});
}

Operation *buildPart(OpBuilder &builder, Operation *op, Range range, ValueRange operands) {
  if (auto iota = dyn_cast<nn::IotaOp>(op))
    return buildIota(builder, iota, range);
  if (isa<nn::ConstantOp>(op))
    return cutPart(builder, op->getResult(0), range);
  Operation *part = op->clone();
  part->setOperands(operands);
  for (OpResult result : part->getResults())
    result.setType(partType(result.getType(), range));
  if (auto slice = dyn_cast<nn::SliceOp>(part)) {
    SmallVector<int64_t> starts(slice.getStarts());
    starts[range.axis] = 0; // its operand begins there
    slice.setStarts(starts);
  }
  return builder.insert(part);
}

Operation *cutPart(OpBuilder &builder, Value whole, Range range) {
  RankedTensorType type = partType(whole.getType(), range);
  auto constant = whole.getDefiningOp<nn::ConstantOp>();
  if (auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr())
    return nn::ConstantOp::create(builder, whole.getLoc(), type,
                                  DenseElementsAttr::get(nn::slabOf(type), splat.getSplatValue<Attribute>()));
  SmallVector<int64_t> starts(type.getRank(), 0), strides(type.getRank(), 1);
  starts[range.axis] = range.start;
  return nn::SliceOp::create(builder, whole.getLoc(), type, whole, starts, strides);
}

} // namespace accum
