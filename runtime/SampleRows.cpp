// SPDX-License-Identifier: Apache-2.0
// One sample into one row of a staging buffer, read from an array or made on the spot.
#include "runtime/Convert.h"
#include "runtime/Dataset.h"
#include "runtime/Philox.h"
#include "runtime/ThreadPool.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {
namespace {

template <typename T> void store(uint8_t *slab, int64_t index, T value) {
  std::memcpy(slab + index * sizeof(T), &value, sizeof(T));
}

void storeNumber(uint8_t *slab, DType dtype, int64_t index, double value) {
  switch (dtype) {
  case ACCUM_F64:
    return store(slab, index, value);
  case ACCUM_F32:
    return store(slab, index, float(value));
  case ACCUM_I64:
    return store(slab, index, int64_t(value));
  case ACCUM_I32:
    return store(slab, index, int32_t(value));
  default:
    return store(slab, index, uint8_t(value));
  }
}

/// How many indices below the bound of an input its type can say: a table may have more rows.
uint64_t drawnBelow(const InputSpec &spec) {
  auto bound = uint64_t(spec.bound.value_or(2));
  switch (spec.dtype) {
  case ACCUM_BOOL:
    return std::min<uint64_t>(bound, 2);
  case ACCUM_I8:
    return std::min<uint64_t>(bound, 1 << 7);
  case ACCUM_U8:
    return std::min<uint64_t>(bound, 1 << 8);
  case ACCUM_I32:
    return std::min<uint64_t>(bound, uint64_t(1) << 31);
  default:
    return bound;
  }
}

/// Normal floats. A picture has a hundred thousand, which take as long as a small step of its model: each
/// says where its draws begin, so that all processors make them.
void drawNormals(const InputSpec &spec, const Draws &draws, uint8_t *slab) {
  constexpr int64_t kChunk = 4096;
  int64_t elements = spec.slabElements();
  parallelFor(elements, elements / kChunk + 1, [&](int64_t begin, int64_t end) {
    Draws own = draws;
    own.skip(2 * uint64_t(begin));
    for (int64_t i = begin; i < end; ++i)
      storeNumber(slab, spec.dtype, i, own.normal());
  });
}

} // namespace

int64_t iotaAt(const InputSpec &spec, int64_t index) {
  int64_t stride = 1;
  for (int64_t d = int64_t(spec.shape.size()) - 1; d >= 0; --d) {
    if (d != spec.batchDim)
      return index / stride % spec.shape[d];
    stride *= spec.shape[d];
  }
  return 0;
}

void Dataset::makeSlab(const Column &column, size_t input, uint64_t sample) {
  const InputSpec &spec = *column.spec;
  Draws draws(seed, (uint64_t(input) + 1) << 40 | sample);
  if (column.random && isFloat(spec.dtype))
    return drawNormals(spec, draws, slab.data());
  // Indices uniform below their bound, other integers 0 or 1.
  for (int64_t i = 0, n = spec.slabElements(); i < n; ++i) {
    double value = column.random                         ? double(draws.below(drawnBelow(spec)))
                   : spec.synthesize == Synthesize::Iota ? double(iotaAt(spec, i))
                                                         : double(spec.synthesize == Synthesize::Ones);
    storeNumber(slab.data(), spec.dtype, i, value);
  }
}

void Dataset::copyRow(size_t input, uint64_t sample, uint8_t *staging, int64_t row, int64_t m) {
  const Column &column = columns[input];
  const InputSpec &spec = *column.spec;
  int64_t elements = spec.slabElements(), inner = spec.shape[*spec.batchDim] / spec.outer;
  for (size_t d = *spec.batchDim + 1; d < spec.shape.size(); ++d)
    inner *= spec.shape[d];
  if (!column.array)
    makeSlab(column, input, sample);
  DType from = column.array ? column.array->dtype : spec.dtype;
  const uint8_t *source = column.array ? column.array->data + sample * elements * bytesOf(from) : slab.data();
  for (int64_t piece = 0; piece < elements / inner; ++piece)
    convert(source + piece * inner * bytesOf(from), from,
            staging + (piece * m + row) * inner * bytesOf(spec.dtype), spec.dtype, inner);
}

} // namespace accum::runtime
