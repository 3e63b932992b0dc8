// SPDX-License-Identifier: Apache-2.0
// Rules: reductions, scans and selections.
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/rules/Roots.h"

using namespace mlir;

namespace accum::import {
using nn::ElementwiseFn;
using nn::ReduceKind;

SmallVector<int64_t> reducedAxes(Binder &node) {
  int64_t rank = node.input(0).rank();
  SmallVector<int64_t> axes = node.has(1) ? node.integers(1) : node.integerList("axes");
  bool isOfOne = rank == 0 && llvm::all_of(axes, [](int64_t axis) { return axis == 0 || axis == -1; });
  if (isOfOne) // frameworks let a scalar have the axis 0
    return {};
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0)
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
  return node.axes(axes, rank);
}

template <ReduceKind kind> static void reduceTo(Binder &node) {
  const GraphValue &x = node.input(0);
  SmallVector<int64_t> axes = reducedAxes(node);
  bool keep = node.integer("keepdims", 1) != 0;
  if (x.content)
    if (Folded folded = foldReduce(kind, *x.content, axes)) {
      GraphValue whole(*folded);
      return node.set(0, keep ? whole : reshape(node.emit, whole, dropAxes(x.shape, axes)));
    }
  bool first = kind != ReduceKind::sum && axes.size() == 1 && selectsFirst(node.node);
  node.set(0, node.emit.reduce(kind, x.whole(node.emit), axes, keep, first));
}

static void reduceMean(Binder &node) {
  node.set(0, node.emit.mean(node.value(0), reducedAxes(node), node.integer("keepdims", 1) != 0));
}

/// `before` each element, sum, `behind`.
static void reduceThrough(Binder &node, Value (*before)(Emitter &, Value),
                          Value (*behind)(Emitter &, Value)) {
  Value x = before(node.emit, node.value(0));
  Value sum = node.emit.reduce(ReduceKind::sum, x, reducedAxes(node), node.integer("keepdims", 1) != 0);
  node.set(0, behind(node.emit, sum));
}

static Value same(Emitter &, Value x) { return x; }
static Value square(Emitter &emit, Value x) { return emit.mul(x, x); }
static Value plainRoot(Emitter &emit, Value x) { return emit.unary(ElementwiseFn::sqrt, x); }
static Value magnitude(Emitter &emit, Value x) { return emit.unary(ElementwiseFn::abs, x); }
static Value logarithm(Emitter &emit, Value x) { return emit.unary(ElementwiseFn::log, x); }

static void reduceL1(Binder &node) { reduceThrough(node, magnitude, same); }

static void reduceL2(Binder &node) {
  const Shape &shape = node.input(0).shape;
  bool overBatch = llvm::any_of(reducedAxes(node), [&](int64_t axis) { return shape[axis].batched; });
  reduceThrough(node, square,
                overBatch ? plainRoot : rootOrZero); // over the batch its root is what is refused
}

static void reduceSumSquare(Binder &node) { reduceThrough(node, square, same); }
static void reduceLogSum(Binder &node) { reduceThrough(node, same, logarithm); }

/// max + log(sum(exp(x - max))).
static void reduceLogSumExp(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  SmallVector<int64_t> axes = reducedAxes(node);
  Value top = emit.reduce(ReduceKind::max, x, axes, true);
  Value sum = emit.reduce(ReduceKind::sum, emit.unary(ElementwiseFn::exp, emit.sub(x, top)), axes, true);
  Value result = emit.add(top, emit.unary(ElementwiseFn::log, sum));
  bool keep = node.integer("keepdims", 1) != 0;
  node.set(0, keep ? result : emit.reshape(result, dropAxes(node.input(0).shape, axes)));
}

static void cumSum(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue &x = node.input(0);
  SmallVector<int64_t> wanted = node.integers(1);
  if (wanted.size() != 1)
    refuseMalformed("has not one axis");
  int64_t axis = node.axis(wanted[0], x.rank());
  bool exclusive = node.integer("exclusive", 0) != 0, reverse = node.integer("reverse", 0) != 0;
  if (x.content)
    if (Folded folded = foldCumSum(*x.content, axis, exclusive, reverse))
      return node.set(0, *folded);
  Value value = x.whole(emit);
  auto flag = [&](bool on) { return on ? emit.builder.getUnitAttr() : UnitAttr(); };
  node.set(0, nn::CumSumOp::create(emit.builder, emit.location, value.getType(), value,
                                   emit.builder.getI64IntegerAttr(axis), flag(exclusive), flag(reverse),
                                   UnitAttr())
                  .getResult());
}

template <ReduceKind kind> static void argReduce(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  int64_t axis = node.axis(node.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (node.integer("select_last_index", 0) != 0)
    refuseUnsupported("selects the last of equal elements");
  Value index = nn::ArgReduceOp::create(emit.builder, emit.location,
                                        emit.type(dropAxes(shape, {axis}), emit.builder.getI64Type()), kind,
                                        x, static_cast<uint64_t>(axis));
  bool keep = node.integer("keepdims", 1) != 0;
  GraphValue result(DType::Int64, keep ? emit.reshape(index, dropAxes(shape, {axis}, true)) : index);
  node.set(0, shape[axis].batched ? result : withBounds(result, 0, shape[axis].count - 1));
}

/// Each pick is a pass over the axis.
static constexpr int64_t kMostPicked = 64;

static void topK(Binder &node) {
  Emitter &emit = node.emit;
  Value x = node.value(0);
  Shape shape = shapeOf(x);
  int64_t axis = node.axis(node.integer("axis", -1), static_cast<int64_t>(shape.size()));
  SmallVector<int64_t> count = node.integers(1);
  if (count.size() != 1 || count[0] < 0 || (!shape[axis].batched && count[0] > shape[axis].count))
    refuseMalformed("asks for more elements than the axis holds");
  if (shape[axis].batched)
    refuseCrossBatch("picks the largest over the batch: whether a sample counts depends on the others");
  if (count[0] < 1 || count[0] > kMostPicked)
    refuseUnsupported("picks " + std::to_string(count[0]) + " of " + std::to_string(shape[axis].count) +
                      " elements; 1 to " + std::to_string(kMostPicked) + " are built");
  int64_t size = shape[axis].count;
  shape[axis] = Extent::fixed(count[0]);
  bool smallest = node.integer("largest", 1) == 0;
  auto op = nn::TopKOp::create(emit.builder, emit.location, emit.type(shape, elementTypeOf(x)),
                               emit.type(shape, emit.builder.getI64Type()), x,
                               emit.builder.getI64IntegerAttr(axis), emit.builder.getI64IntegerAttr(count[0]),
                               smallest ? emit.builder.getUnitAttr() : UnitAttr());
  node.set(0, op.getValues());
  node.set(1, withBounds(GraphValue(DType::Int64, op.getIndices()), 0, size - 1));
}

void addReductionRules(RuleTable &table) {
  constexpr llvm::StringLiteral reduced = "axes keepdims noop_with_empty_axes";
  table.add("ReduceSum", 1, reduceTo<ReduceKind::sum>, reduced);
  table.add("ReduceMax", 1, reduceTo<ReduceKind::max>, reduced);
  table.add("ReduceMin", 1, reduceTo<ReduceKind::min>, reduced);
  table.add("ReduceProd", 1, reduceTo<ReduceKind::prod>, reduced);
  table.add("ReduceMean", 1, reduceMean, reduced);
  table.add("ReduceL1", 1, reduceL1, reduced);
  table.add("ReduceL2", 1, reduceL2, reduced);
  table.add("ReduceSumSquare", 1, reduceSumSquare, reduced);
  table.add("ReduceLogSum", 1, reduceLogSum, reduced);
  table.add("ReduceLogSumExp", 1, reduceLogSumExp, reduced);
  table.add("CumSum", 11, ofScalarToo<cumSum>, "exclusive reverse");
  table.add("ArgMax", 1, ofScalarToo<argReduce<ReduceKind::max>>, "axis keepdims select_last_index");
  table.add("ArgMin", 1, ofScalarToo<argReduce<ReduceKind::min>>, "axis keepdims select_last_index");
  table.add("TopK", 10, ofScalarToo<topK>, "axis largest ~sorted");
}

} // namespace accum::import
