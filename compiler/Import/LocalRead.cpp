// SPDX-License-Identifier: Apache-2.0
// Reads whose known indices name rows of their own sample.
#include "compiler/Import/LocalRead.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

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
