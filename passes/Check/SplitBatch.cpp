// SPDX-License-Identifier: Apache-2.0
// Rows into the whole batch, and the whole batch after them.
#include "passes/Check/SplitBatch.h"
#include "dialects/NN/Boundary.h"
#include "dialects/NN/PlacedBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace accum {

namespace {

/// The axes of a batched slab around its samples: [before, outer, samples, rows, after].
struct SampleAxes {
  explicit SampleAxes(RankedTensorType type) {
    nn::Placement placement = nn::Placement::of(type);
    ArrayRef<int64_t> shape = type.getShape();
    for (int64_t extent : shape.take_front(placement.dim))
      before *= extent;
    for (int64_t extent : shape.drop_front(placement.dim + 1))
      after *= extent;
    outer = placement.outer;
    rows = shape[placement.dim] / outer;
  }
  int64_t perSample() const { return before * outer * rows * after; }

  int64_t before = 1, outer = 1, rows = 1, after = 1;
};

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// What rows are added up in: floats as they are, whole numbers and truth values in i64.
Type summedIn(Type element) {
  return isa<FloatType>(element) ? element : IntegerType::get(element.getContext(), 64);
}

class Joiner {
public:
  Joiner(Operation *before, int64_t batch, Value firstRow, Value positions)
      : builder(before), batch(batch), firstRow(firstRow), places(positions) {}

  /// The value of the whole batch.
  Value enter(Value value);

private:
  Value make(Value value);
  Value sourceOf(Value value) const;
  RankedTensorType wholeTypeOf(Value value) const;
  Value rowsOf(Value value, const SampleAxes &axes);
  Value placeOfSamples(Location loc);
  Value totalOf(Value sum);
  Value inPlace(Value rows, const SampleAxes &axes, RankedTensorType wanted);
  Value reshape(Value value, ArrayRef<int64_t> shape, nn::Placement placement);
  Value cast(Value value, Type element);

  OpBuilder builder;
  int64_t batch;
  Value firstRow, places;
  DenseMap<Value, Value> entered;
};

} // namespace

Value Joiner::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  auto type = mlir::cast<RankedTensorType>(value.getType());
  return nn::CastOp::create(builder, value.getLoc(),
                            RankedTensorType::get(type.getShape(), element, type.getEncoding()), value);
}

Value Joiner::reshape(Value value, ArrayRef<int64_t> shape, nn::Placement placement) {
  RankedTensorType type = placement.place(RankedTensorType::get(shape, elementOf(value)));
  return type == value.getType() ? value
                                 : nn::ReshapeOp::create(builder, value.getLoc(), type, value).getResult();
}

/// One row a sample: [1, elements of a sample], the samples leading.
Value Joiner::rowsOf(Value value, const SampleAxes &axes) {
  value = cast(value, summedIn(elementOf(value)));
  nn::Placement placement = nn::Placement::of(value.getType());
  if (placement.dim > 0 || placement.outer > 1) {
    value = reshape(value, {axes.before, axes.outer, 1, axes.rows, axes.after}, nn::Placement::batched(2));
    auto type = RankedTensorType::get({1, axes.before, axes.outer, axes.rows, axes.after}, elementOf(value));
    value = nn::TransposeOp::create(builder, value.getLoc(), nn::Placement::batched(0).place(type), value,
                                    builder.getDenseI64ArrayAttr({2, 0, 1, 3, 4}));
  }
  return reshape(value, {1, axes.perSample()}, nn::Placement::batched(0));
}

/// The number of each sample in the global batch; spare rows have the last one's.
Value Joiner::placeOfSamples(Location loc) {
  if (places)
    return places;
  Type integer = builder.getI64Type();
  RankedTensorType each = nn::Placement::batched(0).place(RankedTensorType::get({1}, integer));
  auto number = nn::IotaOp::create(builder, loc, each, 0);
  number->setAttr(nn::numbersSamplesAttr, builder.getUnitAttr());
  auto scalar = RankedTensorType::get({}, integer);
  Value last = nn::ConstantOp::create(builder, loc, nn::Placement::replicated().place(scalar),
                                      DenseElementsAttr::get(scalar, batch - 1));
  auto combine = [&](nn::ElementwiseFn fn, Value a, Value b) -> Value {
    return nn::ElementwiseOp::create(builder, loc, TypeRange{each},
                                     nn::ElementwiseFnAttr::get(builder.getContext(), fn), ValueRange{a, b});
  };
  return places = combine(nn::ElementwiseFn::min, combine(nn::ElementwiseFn::add, number, firstRow), last);
}

Value Joiner::totalOf(Value sum) {
  auto total =
      nn::TotalOp::create(builder, sum.getLoc(), nn::Placement::replicated().place(sum.getType()), sum);
  total->setAttr(nn::cutAttr, builder.getUnitAttr());
  return total;
}

/// The rows of all samples in the shape that the whole batch has.
Value Joiner::inPlace(Value rows, const SampleAxes &axes, RankedTensorType wanted) {
  nn::Placement whole = nn::Placement::whole();
  if (axes.before > 1 || axes.outer > 1) {
    rows = reshape(rows, {batch, axes.before, axes.outer, axes.rows, axes.after}, whole);
    auto type =
        RankedTensorType::get({axes.before, axes.outer, batch, axes.rows, axes.after}, elementOf(rows));
    rows = nn::TransposeOp::create(builder, rows.getLoc(), whole.place(type), rows,
                                   builder.getDenseI64ArrayAttr({1, 2, 0, 3, 4}));
  }
  return cast(reshape(rows, wanted.getShape(), whole), wanted.getElementType());
}

/// Of the whole batch.
RankedTensorType Joiner::wholeTypeOf(Value value) const {
  auto type = mlir::cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (nn::Placement placement = nn::Placement::of(type); placement.isBatched())
    shape[placement.dim] *= batch;
  return nn::Placement::whole().place(RankedTensorType::get(shape, type.getElementType()));
}

/// A view of what has other views, or of fewer elements: that enters instead.
Value Joiner::sourceOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp>(op))
    return {};
  return nn::Placement::of(op->getOperand(0).getType()).isBatched() ? op->getOperand(0) : Value();
}

Value Joiner::make(Value value) {
  nn::Placement placement = nn::Placement::of(value.getType());
  RankedTensorType wanted = wholeTypeOf(value);
  if (placement.isReplicated())
    return nn::atBoundary(builder, value, wanted);
  if (placement.isPartial())
    return nn::atBoundary(builder, totalOf(value), wanted);
  if (Value source = sourceOf(value)) {
    IRMapping mapping;
    mapping.map(source, enter(source));
    Operation *view = builder.clone(*value.getDefiningOp(), mapping);
    view->getResult(0).setType(wanted);
    return view->getResult(0);
  }
  SampleAxes axes(mlir::cast<RankedTensorType>(value.getType()));
  Value rows = rowsOf(value, axes);
  auto all = RankedTensorType::get({batch, axes.perSample()}, elementOf(rows));
  Value sum = nn::ScatterAddOp::create(builder, value.getLoc(), nn::Placement::partial().place(all),
                                       placeOfSamples(value.getLoc()), rows, /*axis=*/0, /*batch_dims=*/0);
  Value whole = nn::atBoundary(builder, totalOf(sum), nn::Placement::whole().place(all));
  return inPlace(whole, axes, wanted);
}

Value Joiner::enter(Value value) {
  if (Value known = entered.lookup(value))
    return known;
  Value made = make(value);
  return entered[value] = made;
}

void placeWhole(func::FuncOp whole) {
  for (BlockArgument argument : whole.getArguments())
    argument.setType(nn::Placement::whole().place(argument.getType()));
}

void joinWhole(func::FuncOp forward, func::FuncOp whole, int64_t batch, Value firstRow, Value positions) {
  Block &block = forward.getBody().front(), &rest = whole.getBody().front();
  Operation *terminator = block.getTerminator();
  Joiner joiner(terminator, batch, firstRow, positions);
  SmallVector<Value> arguments;
  for (Value value : terminator->getOperands())
    arguments.push_back(joiner.enter(value));
  Value loss = rest.getTerminator()->getOperand(0);
  for (auto [argument, value] : llvm::zip_equal(rest.getArguments(), arguments)) {
    assert(argument.getType() == value.getType() && "what enters has the type of the whole batch");
    argument.replaceAllUsesWith(value);
  }
  if (auto argument = dyn_cast<BlockArgument>(loss))
    loss = arguments[argument.getArgNumber()];
  terminator->setOperands(loss);
  rest.getTerminator()->erase();
  block.getOperations().splice(terminator->getIterator(), rest.getOperations());
  whole.erase();
  forward.setType(
      FunctionType::get(forward.getContext(), block.getArgumentTypes(), TypeRange{loss.getType()}));
}

} // namespace accum
