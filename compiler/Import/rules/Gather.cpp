// SPDX-License-Identifier: Apache-2.0
// Rules: indexed reads.
#include "compiler/Import/content/LocalRead.h"
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

/// Positions of known indices on a static axis, negative ones counted from the end.
static SmallVector<int64_t> positionsOf(const Content &indices, int64_t extent) {
  if (!isFoldable(indices.shape()))
    refuseUnsupported("reads " + toString(indices.shape()) + " known positions, which are too many");
  SmallVector<int64_t> positions;
  indices.forEach([&](const Element &e) {
    int64_t place = e.constant < 0 ? e.constant + extent : e.constant;
    if (!e.isConstant())
      refuseCrossBatch("reads a table at positions that depend on the place in the batch");
    if (place < 0 || place >= extent)
      throw Refusal{
          "malformed-model",
          "reads position " + std::to_string(e.constant) + " of an axis of " + std::to_string(extent),
          {"a length that --dim NAME=SIZE gives may be longer than a table of positions in the file: " +
           std::to_string(extent) + " are in this one"}};
    positions.push_back(place);
  });
  return positions;
}

/// The axis moved to the front.
static Value toFront(Emitter &emit, Value x, int64_t axis) {
  SmallVector<int64_t> perm{axis};
  for (int64_t d = 0; d < static_cast<int64_t>(shapeOf(x).size()); ++d)
    if (d != axis)
      perm.push_back(d);
  return emit.transpose(x, perm);
}

/// Indices into the batch axis: allowed where every one is a row of its own sample.
static Value gatherFromBatch(Binder &node, const GraphValue &x, const GraphValue &indices, int64_t axis) {
  Emitter &emit = node.emit;
  int64_t rows = x.shape[axis].count, picks = indices.rank();
  if (!indices.content && !indices.bounds)
    refuseCrossBatch(
        "reads the batch axis at positions that depend on data: a sample may read another one",
        {"x[torch.arange(N), i] of a TorchScript export: keep i in its sample, i.clamp(0, S - 1), "
         "or export with dynamo=True"});
  Value split = splitBatchAxis(emit, toFront(emit, x.whole(emit), axis), 0), read;
  if (indices.content) {
    SmallVector<int64_t> table;
    indices.content->forEach([&](const Element &e) { table.push_back(localIndex(e, rows)); });
    read = localRead(emit, split, *indices.content, table);
  } else {
    requireLocal(*indices.bounds, rows);
    read = localReadByData(emit, split, indices.residual(emit));
  }
  // [indices..., before axis..., behind it...] -> [before..., indices..., behind...]
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < axis; ++d)
    perm.push_back(picks + d);
  for (int64_t d = 0; d < picks; ++d)
    perm.push_back(d);
  for (int64_t d = axis; d + 1 < x.rank(); ++d)
    perm.push_back(picks + d);
  return emit.transpose(read, perm);
}

/// Known indices into a static axis; the result stays lean along axes of the indices that do not move.
static GraphValue gatherStatic(Binder &node, const GraphValue &x, const Content &indices, int64_t axis) {
  Emitter &emit = node.emit;
  Content lean = indices;
  for (auto [size, stride] : llvm::zip_equal(lean.slab, lean.strides))
    size = stride == 0 ? std::min<int64_t>(size, 1) : size;
  bool batchStays = indices.batchAxis >= 0 && lean.slab[indices.batchAxis] != 1;
  Shape input = x.shape, result(ArrayRef(input).take_front(axis)), whole = result;
  for (auto [d, size] : llvm::enumerate(lean.slab))
    result.push_back(Extent::fixed(size));
  whole.append(indices.shape());
  result.append(input.begin() + axis + 1, input.end());
  whole.append(input.begin() + axis + 1, input.end());
  if (batchStays)
    return {x.dtype, emit.gather(x.whole(emit), emit.constant(indices), axis)};
  lean.batchAxis = -1;
  Value rows = pick(emit, x.whole(emit), axis, positionsOf(lean, input[axis].count));
  GraphValue value(x.dtype, emit.reshape(rows, result));
  value.shape = whole;
  return value;
}

/// Rows of an embedding; lookups of `padding` give that row no gradient.
static Value embed(Emitter &emit, Value table, Value indices, int64_t padding) {
  Shape column = shapeOf(indices);
  column.push_back(Extent::fixed(1));
  Value isPadding =
      emit.elementwise(nn::ElementwiseFn::eq,
                       {emit.reshape(indices, column), emit.integerScalar(elementTypeOf(indices), padding)});
  return emit.detachWhere(isPadding, emit.gather(table, indices, 0));
}

static void gather(Binder &node) {
  GraphValue x = node.input(0);
  const GraphValue indices = node.input(1);
  int64_t axis = node.axis(node.integer("axis", 0), x.rank());
  requireIntegers(indices);
  if (indices.content && indices.content->isUniform() && indices.content->isConstant() &&
      indices.content->flatten().front().constant == 0)
    x = firstOfEqual(x, axis).value_or(x);
  if (x.content && indices.content)
    if (Folded folded = foldGather(*x.content, *indices.content, axis))
      return node.set(0, *folded);
  if (x.shape[axis].batched)
    return node.set(0, gatherFromBatch(node, x, indices, axis));
  Emitter &emit = node.emit;
  std::optional<int64_t> padding = paddingRow(node.node);
  if (padding && axis == 0 && x.rank() == 2)
    return node.set(0, embed(emit, x.whole(emit), indices.whole(emit), *padding));
  if (indices.content)
    return node.set(0, gatherStatic(node, x, *indices.content, axis));
  node.set(0, emit.gather(x.whole(emit), indices.whole(emit), axis));
}

/// Row-major position within the slab's leading axes `axes` that an index tuple means.
static int64_t linearIndex(const GraphValue &x, ArrayRef<Element> tuple) {
  int64_t position = 0;
  for (auto [d, element] : llvm::enumerate(tuple)) {
    int64_t size = x.shape[d].count, place = element.constant;
    if (x.shape[d].batched)
      place = localIndex(element, size);
    else if (!element.isConstant())
      refuseCrossBatch("reads a table at positions that depend on the place in the batch");
    else
      place = place < 0 ? place + size : place;
    if (place < 0 || place >= size)
      refuseMalformed("reads outside of its input");
    position = position * size + place;
  }
  return position;
}

/// [d0, ..., d(depth-1), rest...] with the batch on an axis below depth, as [N, P, rest...].
static Value flattenLeading(Emitter &emit, const GraphValue &x, int64_t batchAxis, int64_t depth) {
  // Splitting c*N into [N, c] keeps row-major positions only if N comes first.
  Value split = toFront(emit, splitBatchAxis(emit, x.whole(emit), batchAxis), batchAxis);
  Shape target{Extent::ofBatch(1), Extent::fixed(1)}, input = x.shape;
  for (int64_t d = 0; d < depth; ++d)
    target[1].count *= input[d].count;
  target.append(input.begin() + depth, input.end());
  return emit.reshape(split, target);
}

/// GatherND with indices that depend on data.
static Value gatherTuples(Binder &node, const GraphValue &x, const GraphValue &tuples) {
  Emitter &emit = node.emit;
  int64_t depth = tuples.shape.back().count;
  Value positions = linearPositions(emit, x, tuples);
  SmallVector<int64_t> axes = batchAxes(ArrayRef(x.shape).take_front(depth));
  if (axes.size() == 1 && batchAxes(shapeOf(positions)).size() == 1)
    return localReadByData(emit, flattenLeading(emit, x, axes[0], depth), positions);
  if (!axes.empty())
    refuseCrossBatch("reads the batch axis at positions that depend on data: a sample may read another one");
  Shape flat{Extent::fixed(1)};
  for (int64_t d = 0; d < depth; ++d)
    flat[0].count *= x.shape[d].count;
  flat.append(x.shape.begin() + depth, x.shape.end());
  return emit.gather(emit.reshape(x.whole(emit), flat), positions, 0);
}

static void gatherND(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue x = node.input(0), tuples = node.input(1);
  requireIntegers(tuples);
  if (node.integer("batch_dims", 0) != 0)
    refuseUnsupported("has batch_dims");
  if (tuples.rank() == 0 || tuples.shape.back().count < 1 || tuples.shape.back().batched ||
      tuples.shape.back().count > x.rank())
    refuseMalformed("has index tuples of shape " + toString(tuples.shape));
  if (!tuples.content)
    return node.set(0, gatherTuples(node, x, tuples));
  const Content indices = *tuples.content;
  if (x.content)
    if (Folded folded = foldGatherND(*x.content, indices))
      return node.set(0, *folded);
  int64_t depth = indices.slab.back();
  std::vector<Element> elements = indices.flatten();
  SmallVector<int64_t> table, axes = batchAxes(ArrayRef(x.shape).take_front(depth));
  for (size_t at = 0; at < elements.size(); at += depth)
    table.push_back(linearIndex(x, ArrayRef(elements).slice(at, depth)));
  Content places = indices; // the shape of the result's leading axes and its batch
  places.slab.pop_back();
  places.strides.pop_back();
  if (axes.size() > 1)
    refuseCrossBatch("reads pairs of samples");
  if (!axes.empty())
    return node.set(0, localRead(emit, flattenLeading(emit, x, axes[0], depth), places, table));
  Shape flat{Extent::fixed(1)}, result = places.shape();
  for (int64_t d = 0; d < depth; ++d)
    flat[0].count *= x.shape[d].count;
  flat.append(x.shape.begin() + depth, x.shape.end());
  result.append(x.shape.begin() + depth, x.shape.end());
  Shape once = result; // the same rows for every sample: positions that were repeated over the batch
  if (places.batchAxis >= 0) {
    if (places.slab[places.batchAxis] != 1)
      refuseUnsupported("reads a table that has no batch axis with several indices for every sample");
    once[places.batchAxis] = Extent::fixed(1);
  }
  GraphValue rows(x.dtype, emit.reshape(pick(emit, emit.reshape(x.whole(emit), flat), 0, table), once));
  node.set(0, broadcastTo(emit, rows, result));
}

static void gatherElements(Binder &node) {
  Emitter &emit = node.emit;
  const GraphValue x = node.input(0), indices = node.input(1);
  int64_t axis = node.axis(node.integer("axis", 0), x.rank());
  requireIntegers(indices);
  if (indices.rank() != x.rank())
    refuseMalformed("has indices of another rank than its input");
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis &&
        (indices.shape[d].batched != x.shape[d].batched || indices.shape[d].count > x.shape[d].count))
      refuseMalformed("reads " + toString(indices.shape) + " elements of " + toString(x.shape));
  if (x.content && indices.content)
    if (Folded folded = foldGatherElements(*x.content, *indices.content, axis))
      return node.set(0, *folded);
  if (x.shape[axis].batched)
    refuseCrossBatch("reads the batch axis at positions that depend on data: a sample may read another one");
  Value picks = indices.whole(emit);
  node.set(0, nn::GatherElementsOp::create(emit.builder, emit.location,
                                           emit.type(indices.shape, emit.elementType(x.dtype)), x.whole(emit),
                                           picks, emit.builder.getI64IntegerAttr(axis))
                  .getResult());
}

void addGatherRules(RuleTable &table) {
  table.add("Gather", 1, gather, "axis");
  table.add("GatherND", 11, gatherND, "batch_dims");
  table.add("GatherElements", 11, gatherElements, "axis");
}

} // namespace accum::import
