// SPDX-License-Identifier: Apache-2.0
// Rules: indexed writes, as a choice between old and new rows at known positions.
#include "compiler/Import/content/LocalRead.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

/// Rows [.., P, ..] and [.., U, ..] along `axis`; position p of the result is old row p, or the last new row
/// written to p. `targets[u]` is where new row u goes.
static Value replaceRows(Emitter &emit, const GraphValue &old, Value fresh, int64_t axis, int64_t size,
                         ArrayRef<int64_t> targets) {
  SmallVector<int64_t> source;
  for (int64_t p = 0; p < size; ++p)
    source.push_back(p);
  for (auto [u, target] : llvm::enumerate(targets))
    source[target] = size + static_cast<int64_t>(u);
  bool replacesAll = llvm::all_of(source, [&](int64_t from) { return from >= size; });
  if (!replacesAll)
    return pick(emit, emit.concat({old.whole(emit), fresh}, axis), axis, source);
  for (int64_t &from : source)
    from -= size;
  bool inOrder = llvm::is_sorted(source) && static_cast<int64_t>(targets.size()) == size;
  return inOrder ? fresh : pick(emit, fresh, axis, source);
}

/// The position on axis d of the data that an index names.
static int64_t placeOn(const Shape &data, size_t d, const Element &element) {
  int64_t size = data[d].count;
  if (data[d].batched)
    return localIndex(element, size);
  int64_t place = element.constant < 0 ? element.constant + size : element.constant;
  if (!element.isConstant())
    refuseCrossBatch("writes a table at positions that depend on the place in the batch");
  if (place < 0 || place >= size)
    refuseMalformed("writes outside of its input");
  return place;
}

static SmallVector<int64_t> linearTargets(const Shape &data, const Content &indices) {
  SmallVector<int64_t> targets;
  std::vector<Element> elements = indices.flatten();
  auto depth = static_cast<size_t>(indices.slab.back());
  for (size_t at = 0; at < elements.size(); at += depth) {
    int64_t linear = 0;
    for (size_t d = 0; d < depth; ++d)
      linear = linear * data[d].count + placeOn(data, d, elements[at + d]);
    targets.push_back(linear);
  }
  return targets;
}

/// [lead, joined axes, rest].
static Shape joined(ArrayRef<Extent> lead, int64_t count, ArrayRef<Extent> rest) {
  Shape shape(lead);
  shape.push_back(Extent::fixed(count));
  shape.append(rest.begin(), rest.end());
  return shape;
}

[[noreturn]] static void refuseComputedRows(const std::string &what) {
  refuseCrossBatch(what + " the batch axis at positions that depend on data, which may be another sample's",
                   {"write each sample's own row along another axis: x.scatter_add(1, index, value), or "
                    "x.scatter(1, index, value) with one index"});
}

/// Known integers 0, 1, ... along `axis` of `rank`, ones elsewhere.
static Value countUp(Emitter &emit, DType type, int64_t rank, int64_t axis, int64_t size) {
  Shape shape(rank, Extent::fixed(1));
  shape[axis] = Extent::fixed(size);
  std::vector<Element> numbers;
  for (int64_t i = 0; i < size; ++i)
    numbers.push_back(Element::integer(i));
  return emit.constant(Content::dense(type, shape, std::move(numbers)));
}

static Value withOnes(Emitter &emit, Value x, int64_t rank) {
  Shape shape = shapeOf(x);
  shape.resize(rank, Extent::fixed(1));
  return emit.reshape(x, shape);
}

/// `old` is [N, P, rest], and row u of `fresh`, [N, U, rest], goes to place `positions`[u] of its sample; of
/// several at one place the last. `type`: of the positions.
static Value overwriteRows(Emitter &emit, Value old, Value positions, Value fresh, DType type) {
  constexpr int64_t mostPairs = int64_t{1} << 24;
  int64_t places = shapeOf(old)[1].count, count = shapeOf(positions)[1].count;
  auto rank = static_cast<int64_t>(shapeOf(old).size());
  if (count == 1) {
    Value isIt =
        emit.elementwise(nn::ElementwiseFn::eq, {positions, countUp(emit, type, 2, 1, places)}); // [N, P]
    return emit.select(withOnes(emit, isIt, rank), fresh, old);
  }
  if (places * count > mostPairs)
    refuseUnsupported("overwrites " + std::to_string(count) + " of " + std::to_string(places) +
                      " rows of each sample at positions that depend on data, which are too many");
  Value column = emit.reshape(positions, {Extent::ofBatch(1), Extent::fixed(1), Extent::fixed(count)});
  Value isIt =
      emit.elementwise(nn::ElementwiseFn::eq, {column, countUp(emit, type, 3, 1, places)}); // [N, P, U]
  Type integer = elementTypeOf(column);
  Value writers = emit.select(isIt, countUp(emit, type, 3, 2, count), emit.integerScalar(integer, -1));
  Value last = emit.reduce(nn::ReduceKind::max, writers, {2});
  Value zero = emit.integerScalar(integer, 0);
  Value read = emit.gather(fresh, emit.elementwise(nn::ElementwiseFn::max, {last, zero}), 1, /*batchDims=*/1);
  Value isWritten = emit.elementwise(nn::ElementwiseFn::ge, {last, zero});
  return emit.select(withOnes(emit, isWritten, rank), read, old);
}

/// The TorchScript exporter writes index_put(accumulate=True) as a plain write into zeros, which are added
/// then: of several updates at one place all but one are lost.
static void requireKept(Binder &node, const GraphValue &data, int64_t count) {
  bool isTraced = node.emit.isFromPyTorch && node.node.metadata.empty();
  bool isZeros = data.content && isFloat(data.dtype) && data.content->isUniform() &&
                 data.content->isConstant() && data.content->only().real == 0;
  if (isTraced && isZeros && count > 1)
    throw Refusal{"lost-in-export",
                  "writes " + std::to_string(count) +
                      " rows of each sample into zeros, as the TorchScript exporter also does for "
                      "index_put(accumulate=True), whose sums of rows at one place are then lost",
                  {"torch.onnx.export(..., dynamo=True) keeps the two apart"}};
}

/// x[arange(N), i] = v, or += v: positions that depend on data, in the sample's own rows.
static Value writeOwnRows(Binder &node, const GraphValue &data, const GraphValue &tuples,
                          const GraphValue &updates, bool adds) {
  Emitter &emit = node.emit;
  int64_t depth = tuples.shape.back().count, size = 1;
  Value positions = linearPositions(emit, data, tuples);
  SmallVector<int64_t> axes = batchAxes(ArrayRef(data.shape).take_front(depth)),
                       picked = batchAxes(shapeOf(positions));
  if (axes.size() != 1 || picked.size() != 1)
    refuseComputedRows(adds ? "adds to" : "overwrites");
  for (Extent extent : ArrayRef(data.shape).take_front(depth))
    size *= extent.count;
  ArrayRef<Extent> rest = ArrayRef(data.shape).drop_front(depth);
  int64_t count = volumeOf(shapeOf(positions)).count;
  Shape lead{Extent::ofBatch(1)};
  GraphValue places = batchToFront(emit, GraphValue(DType::Int64, positions), picked[0]);
  Value own = emit.reshape(places.value, {Extent::ofBatch(1), Extent::fixed(count)});
  Value fresh = emit.reshape(batchToFront(emit, updates, picked[0]).whole(emit), joined(lead, count, rest));
  Value old = reshape(emit, batchToFront(emit, data, axes[0]), joined(lead, size, rest)).whole(emit);
  if (!adds) {
    requireKept(node, data, count);
    return batchToPlace(emit, overwriteRows(emit, old, own, fresh, tuples.dtype), data.shape, axes[0]);
  }
  Value added =
      nn::ScatterAddOp::create(emit.builder, emit.location, old.getType(), own, fresh,
                               emit.builder.getI64IntegerAttr(1), emit.builder.getI64IntegerAttr(1));
  return batchToPlace(emit, emit.add(old, added), data.shape, axes[0]);
}

/// ScatterND with reduction `add` into a table without a batch axis, at positions that depend on data.
static Value addRows(Binder &node, const GraphValue &data, const GraphValue &tuples,
                     const GraphValue &updates) {
  Emitter &emit = node.emit;
  int64_t depth = tuples.shape.back().count;
  if (!batchAxes(ArrayRef(data.shape).take_front(depth)).empty())
    return writeOwnRows(node, data, tuples, updates, /*adds=*/true);
  Shape flat{Extent::fixed(1)};
  for (int64_t d = 0; d < depth; ++d)
    flat[0].count *= data.shape[d].count;
  flat.append(data.shape.begin() + depth, data.shape.end());
  Value added =
      nn::ScatterAddOp::create(emit.builder, emit.location, emit.type(flat, emit.elementType(data.dtype)),
                               linearPositions(emit, data, tuples), updates.whole(emit),
                               emit.builder.getI64IntegerAttr(0), emit.builder.getI64IntegerAttr(0));
  return emit.add(data.whole(emit), emit.reshape(added, data.shape));
}

static void requireUpdates(const GraphValue &data, const GraphValue &updates, const Shape &expected) {
  if (updates.dtype != data.dtype)
    refuseMalformed("has updates of another element type than its input");
  if (updates.shape != expected)
    refuseMalformed("has updates of shape " + toString(updates.shape) + ", expected " + toString(expected));
}

static void scatterND(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue data = node.input(0), tuples = node.input(1), updates = node.input(2);
  requireIntegers(tuples);
  if (tuples.rank() == 0 || tuples.shape.back().count < 1 || tuples.shape.back().batched ||
      tuples.shape.back().count > data.rank())
    refuseMalformed("has index tuples of shape " + toString(tuples.shape));
  Shape written(ArrayRef(tuples.shape).drop_back());
  written.append(data.shape.begin() + tuples.shape.back().count, data.shape.end());
  requireUpdates(data, updates, written);
  if (node.text("reduction", "none") == "add")
    return node.set(0, addRows(node, data, tuples, updates));
  if (!tuples.content && !batchAxes(tuples.shape).empty() && batchAxes(data.shape).empty())
    refuseCrossBatch(
        "overwrites rows of one table with those of all samples: which one stays depends on their order");
  if (!tuples.content && !batchAxes(ArrayRef(data.shape).take_front(tuples.shape.back().count)).empty())
    return node.set(0, writeOwnRows(node, data, tuples, updates, /*adds=*/false));
  const Content indices = node.content(1);
  if (node.text("reduction", "none") != "none")
    refuseUnsupported("has the reduction `" + node.text("reduction", "") + "`");
  int64_t depth = indices.slab.back();
  SmallVector<int64_t> targets = linearTargets(data.shape, indices),
                       axes = batchAxes(ArrayRef(data.shape).take_front(depth));
  int64_t size = 1;
  for (int64_t d = 0; d < depth; ++d)
    size *= data.shape[d].count;
  ArrayRef<Extent> rest = ArrayRef(data.shape).drop_front(depth);
  auto count = static_cast<int64_t>(targets.size());
  if (axes.empty() && indices.batchAxis < 0) {
    GraphValue old = reshape(emit, data, joined({}, size, rest));
    Value fresh = emit.reshape(updates.whole(emit), joined({}, count, rest));
    return node.set(0, emit.reshape(replaceRows(emit, old, fresh, 0, size, targets), data.shape));
  }
  if (axes.size() != 1 || indices.batchAxis < 0 || indices.outer != 1)
    refuseCrossBatch("writes rows of all samples into one table");
  Shape lead{Extent::ofBatch(1)};
  GraphValue old = reshape(emit, batchToFront(emit, data, axes[0]), joined(lead, size, rest));
  Value moved = batchToFront(emit, updates, indices.batchAxis).whole(emit);
  Value rows = replaceRows(emit, old, emit.reshape(moved, joined(lead, count, rest)), 1, size, targets);
  node.set(0, batchToPlace(emit, rows, data.shape, axes[0]));
}

/// Positions along the axis, where they are the same for all other coordinates.
static SmallVector<int64_t> commonTargets(const Shape &data, const Content &indices, int64_t axis) {
  SmallVector<int64_t, 6> index(indices.slab.size(), 0);
  SmallVector<int64_t> targets(indices.slab[axis], -1);
  for (bool more = indices.size() > 0; more; more = advance(index, indices.slab)) {
    int64_t place = placeOn(data, static_cast<size_t>(axis), indices.at(index));
    int64_t &target = targets[index[axis]];
    if (target >= 0 && target != place)
      refuseUnsupported("writes at positions that differ between rows");
    target = place;
  }
  return targets;
}

/// No two indices along `axis` are the same: there is one of them, or they are those of a TopK.
static bool distinctAlong(const GraphValue &indices, int64_t axis) {
  if (indices.shape[axis] == Extent::fixed(1))
    return true;
  Value value = indices.value;
  if (!value || shapeOf(value) != indices.shape) // broadcast: repeated
    return false;
  while (Operation *op = value.getDefiningOp()) {
    if (auto topK = dyn_cast<nn::TopKOp>(op))
      return value == topK.getIndices() && static_cast<int64_t>(topK.getAxis()) == axis;
    if (!isa<nn::CastOp, nn::SliceOp>(op)) // a slice of distinct ones is distinct
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Elements at distinct positions that depend on data: added to zeros they are themselves.
static Value overwrite(Binder &node, int64_t axis) {
  Emitter &emit = node.emit;
  const GraphValue &data = node.input(0), &indices = node.input(1);
  bool isBool = data.dtype == DType::Bool;
  DType summed = isBool ? DType::Float32 : data.dtype;
  Value positions = indices.whole(emit);
  auto sumOf = [&](Value updates, DType type) {
    return nn::ScatterElementsAddOp::create(emit.builder, emit.location,
                                            emit.type(data.shape, emit.elementType(type)), positions, updates,
                                            emit.builder.getI64IntegerAttr(axis))
        .getResult();
  };
  auto isSet = [&](Value count) {
    return emit.elementwise(nn::ElementwiseFn::ne, {count, emit.scalar(elementTypeOf(count), 0)});
  };
  Value written = sumOf(cast(emit, node.input(2), summed).whole(emit), summed);
  bool intoZeros =
      data.content && data.content->isUniform() && data.content->isConstant() &&
      (isFloat(data.dtype) ? data.content->only().real == 0 : data.content->only().constant == 0);
  if (isBool)
    written = isSet(written);
  if (intoZeros)
    return written;
  GraphValue one(Content::scalar(DType::Float32, Element::floating(1)));
  Value hits = sumOf(broadcastTo(emit, one, indices.shape).whole(emit), DType::Float32);
  return emit.select(isSet(hits), written, data.whole(emit));
}

static void scatterElements(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue data = node.input(0), indices = node.input(1), updates = node.input(2);
  int64_t axis = node.axis(node.integer("axis", 0), data.rank());
  std::string reduction = node.text("reduction", "none");
  requireIntegers(indices);
  if (indices.rank() != data.rank())
    refuseMalformed("has indices of another rank than its input");
  requireUpdates(data, updates, indices.shape);
  if (data.shape[axis].batched)
    refuseCrossBatch("writes the batch axis at given positions: a sample may write another one's row");
  if (reduction == "add") {
    Value added = nn::ScatterElementsAddOp::create(
        emit.builder, emit.location, emit.type(data.shape, emit.elementType(data.dtype)), indices.whole(emit),
        updates.whole(emit), emit.builder.getI64IntegerAttr(axis));
    return node.set(0, emit.add(data.whole(emit), added));
  }
  if (reduction != "none")
    refuseUnsupported("has the reduction `" + reduction + "`");
  if (!indices.content && !distinctAlong(indices, axis))
    refuseUnsupported(
        "overwrites elements at positions that depend on data, and may write one of them twice");
  for (int64_t d = 0; d < data.rank(); ++d)
    if (d != axis && !(indices.shape[d] == data.shape[d]))
      refuseUnsupported("writes part of an axis beside its own");
  if (!indices.content)
    return node.set(0, overwrite(node, axis));
  SmallVector<int64_t> targets = commonTargets(data.shape, *indices.content, axis);
  node.set(0, replaceRows(emit, data, updates.whole(emit), axis, data.shape[axis].count, targets));
}

/// A number of any type.
static int64_t depthOf(Binder &node) {
  const Content &known = node.content(1);
  if (known.size() != 1)
    refuseMalformed("has " + std::to_string(known.size()) + " depths");
  if (!known.isConstant())
    refuseCrossBatch("has as many classes as there are samples");
  double depth = isFloat(known.dtype) ? known.only().real : static_cast<double>(known.only().constant);
  if (!(depth >= 1))
    refuseMalformed("has a depth that is not positive");
  if (depth > (1 << 24))
    refuseUnsupported("has more than 2^24 classes");
  return static_cast<int64_t>(depth);
}

/// The indices as integers; from opset 11 on negative ones count from the end.
static GraphValue fromEnd(Binder &node, int64_t depth) {
  Emitter &emit = node.emit;
  GraphValue indices = node.input(0);
  if (isFloat(indices.dtype))
    indices = cast(emit, indices, DType::Int64);
  requireIntegers(indices);
  if (node.node.opset < 11)
    return indices;
  GraphValue zero(Content::scalar(indices.dtype, Element::integer(0)));
  GraphValue size(Content::scalar(indices.dtype, Element::integer(depth)));
  GraphValue isNegative = elementwise(emit, nn::ElementwiseFn::lt, {&indices, &zero});
  GraphValue fromEnd = elementwise(emit, nn::ElementwiseFn::add, {&indices, &size});
  return elementwise(emit, nn::ElementwiseFn::select, {&isNegative, &fromEnd, &indices});
}

static void oneHot(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue values = node.input(2);
  int64_t depth = depthOf(node);
  if (values.rank() != 1 || !(values.shape[0] == Extent::fixed(2)))
    refuseMalformed("has not two values");
  GraphValue indices = fromEnd(node, depth);
  int64_t axis = node.axis(node.integer("axis", -1), indices.rank() + 1);
  Shape column(indices.shape), classes(indices.shape.size() + 1, Extent::fixed(1));
  column.insert(column.begin() + axis, Extent::fixed(1));
  classes[axis] = Extent::fixed(depth);
  std::vector<Element> positions;
  for (int64_t j = 0; j < depth; ++j)
    positions.push_back(Element::integer(j));
  GraphValue iota(Content::dense(indices.dtype, classes, std::move(positions)));
  GraphValue hit = reshape(emit, indices, column);
  hit = elementwise(emit, nn::ElementwiseFn::eq, {&hit, &iota});
  auto value = [&](int64_t i) {
    return reshape(emit, slice(emit, values, {i}, {1}, {Extent::fixed(1)}), {});
  };
  GraphValue on = value(1), off = value(0);
  node.set(0, elementwise(emit, nn::ElementwiseFn::select, {&hit, &on, &off}));
}

void addScatterRules(RuleTable &table) {
  table.add("ScatterND", 11, scatterND, "reduction");
  table.add("ScatterElements", 11, scatterElements, "axis reduction");
  table.add("OneHot", 9, oneHot, "axis");
}

} // namespace accum::import
