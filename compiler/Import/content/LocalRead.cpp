// SPDX-License-Identifier: Apache-2.0
// Reads whose known indices name rows of their own sample.
#include "compiler/Import/content/LocalRead.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

void requireIntegers(const GraphValue &indices) {
  if (isFloat(indices.dtype) || indices.dtype == DType::Bool)
    refuseMalformed("has indices that are not integers");
}

Value splitBatchAxis(Emitter &emit, Value x, int64_t axis) {
  Shape target = shapeOf(x);
  target.insert(target.begin() + axis + 1, Extent::fixed(target[axis].count));
  target[axis] = Extent::ofBatch(1);
  return emit.reshape(x, target);
}

int64_t localIndex(const Element &index, int64_t rows) {
  if (index.isConstant())
    refuseCrossBatch("takes part of the batch: every sample reads row " + std::to_string(index.constant));
  if (index.perIndex != rows || index.perBatch != 0 || index.constant < 0 || index.constant >= rows)
    refuseCrossBatch(
        "reads the batch axis at positions that are not a sample's own: the result depends on the "
        "place in the batch");
  return index.constant;
}

void requireLocal(const GraphValue::Bounds &bounds, int64_t rows) {
  bounds.low.forEach([&](const Element &e) { localIndex(e, rows); });
  bounds.high.forEach([&](const Element &e) { localIndex(e, rows); });
}

Value linearPositions(Emitter &emit, const GraphValue &x, const GraphValue &tuples) {
  Shape shape = tuples.shape, column(shape), rest(ArrayRef(shape).drop_back());
  column.back() = Extent::fixed(1);
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  Value linear;
  for (int64_t d = 0; d < shape.back().count; ++d) {
    starts.back() = d;
    GraphValue place = slice(emit, tuples, starts, steps, column);
    int64_t size = x.shape[d].count;
    if (x.shape[d].batched) {
      if (!place.bounds && !place.content)
        refuseCrossBatch(
            "reads the batch axis at positions that depend on data: a sample may read another one");
      requireLocal(*place.boundsOr(0), size);
    } else if (auto bounds = place.boundsOr(0); bounds && !bounds->low.isConstant()) {
      refuseCrossBatch("reads a table at positions that depend on the place in the batch");
    }
    Value position = emit.reshape(place.residual(emit), rest);
    Type integer = elementTypeOf(position);
    if (!x.shape[d].batched) // negative ones count from the end
      position =
          emit.select(emit.elementwise(nn::ElementwiseFn::lt, {position, emit.integerScalar(integer, 0)}),
                      emit.add(position, emit.integerScalar(integer, size)), position);
    linear = linear ? emit.add(emit.mul(linear, emit.integerScalar(integer, size)), position) : position;
  }
  return linear;
}

GraphValue batchToFront(Emitter &emit, const GraphValue &x, int64_t axis) {
  Shape split = x.shape;
  split.insert(split.begin() + axis + 1, Extent::fixed(split[axis].count));
  split[axis] = Extent::ofBatch(1);
  SmallVector<int64_t> perm{axis};
  for (int64_t d = 0; d < static_cast<int64_t>(split.size()); ++d)
    if (d != axis)
      perm.push_back(d);
  return transpose(emit, reshape(emit, x, split), perm);
}

Value batchToPlace(Emitter &emit, Value x, const Shape &shape, int64_t axis) {
  Shape split{Extent::ofBatch(1)};
  for (Extent extent : shape)
    split.push_back(Extent::fixed(extent.count));
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < axis; ++d)
    perm.push_back(d + 1);
  perm.push_back(0);
  for (int64_t d = axis; d < static_cast<int64_t>(shape.size()); ++d)
    perm.push_back(d + 1);
  return emit.reshape(emit.transpose(emit.reshape(x, split), perm), shape);
}

Value localReadByData(Emitter &emit, Value x, Value indices) {
  Shape input = shapeOf(x), shape = shapeOf(indices);
  int64_t axis = batchAxes(shape)[0];
  Value picks = batchToFront(emit, GraphValue(DType::Int64, indices), axis).value;
  Value read = emit.gather(x, picks, 1, /*batchDims=*/1);
  shape.append(input.begin() + 2, input.end());
  return batchToPlace(emit, read, shape, axis);
}

/// The axis behind N in [N, slab..., rest...] goes to its place: [slab with N at the batch axis..., rest...].
static Value moveBatchAxis(Emitter &emit, Value x, const Content &indices) {
  int64_t rank = static_cast<int64_t>(shapeOf(x).size()), axis = indices.batchAxis;
  SmallVector<int64_t> perm;
  for (int64_t d = 0; d < axis; ++d)
    perm.push_back(d + 1);
  perm.push_back(0);
  for (int64_t d = axis + 1; d < rank; ++d)
    perm.push_back(d);
  return emit.transpose(x, perm);
}

Value localRead(Emitter &emit, Value x, const Content &indices, ArrayRef<int64_t> table) {
  if (indices.outer != 1)
    refuseCrossBatch("reads the batch axis with indices of several blocks of samples");
  Shape input = shapeOf(x);
  bool everything = static_cast<int64_t>(table.size()) == input[1].count;
  for (auto [i, position] : llvm::enumerate(table))
    everything &= position == static_cast<int64_t>(i);
  Value rows = everything ? x : pick(emit, x, 1, table);
  Shape target{Extent::ofBatch(1)}, shape = indices.shape();
  for (int64_t extent : indices.slab)
    target.push_back(Extent::fixed(extent));
  target.append(input.begin() + 2, input.end());
  shape.append(input.begin() + 2, input.end());
  bool leading = llvm::all_of(ArrayRef(indices.slab).take_front(indices.batchAxis),
                              [](int64_t extent) { return extent == 1; });
  if (leading)
    return emit.reshape(rows, shape);
  return emit.reshape(moveBatchAxis(emit, emit.reshape(rows, target), indices), shape);
}

} // namespace accum::import
