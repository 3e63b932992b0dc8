// SPDX-License-Identifier: Apache-2.0
// One sample into one row of a staging buffer, read from an array or made on the spot.
#include "runtime/data/Dataset.h"
#include "runtime/data/Philox.h"
#include "runtime/files/Convert.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <array>
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

/// Numbers that divide the normal distribution into parts of one probability: one of them is drawn in a
/// fraction of the time of a logarithm, a root and a cosine, which for a picture take as long as a small step
/// of its model.
constexpr size_t kQuantiles = 4096;

const std::array<float, kQuantiles> &normalQuantiles() {
  static const std::array<float, kQuantiles> all = [] {
    std::array<float, kQuantiles> values;
    double x = 0;
    for (size_t i = kQuantiles / 2; i < kQuantiles; ++i) {
      double probability = (double(i) + 0.5) / kQuantiles;
      for (int round = 0; round < 8; ++round) // Newton's method, from below: the function is concave there
        x += (probability - std::erfc(-x * 0.7071067811865476) / 2) /
             (0.3989422804014327 * std::exp(-x * x / 2));
      values[i] = float(x);
      values[kQuantiles - 1 - i] = float(-x);
    }
    return values;
  }();
  return all;
}

/// Normal floats, four from one draw. Each says where its draws begin, so that all processors make them.
template <typename T> void drawNormals(const Draws &draws, int64_t elements, T *slab) {
  constexpr int64_t kFromOne = 4, kChunk = 4096;
  const auto &quantiles = normalQuantiles();
  parallelFor((elements + kFromOne - 1) / kFromOne, elements / kChunk + 1, [&](int64_t begin, int64_t end) {
    Draws own = draws;
    own.skip(uint64_t(begin));
    for (int64_t i = begin * kFromOne, last = std::min(end * kFromOne, elements); i < last;) {
      uint64_t bits = own.bits();
      for (int64_t stop = std::min(i + kFromOne, last); i < stop; ++i, bits >>= 16)
        slab[i] = quantiles[bits % kQuantiles];
    }
  });
}

size_t shardOf(const Column &column, uint64_t sample) {
  auto behind = std::upper_bound(column.starts.begin(), column.starts.end(), int64_t(sample));
  return size_t(behind - column.starts.begin()) - 1;
}

} // namespace

void fillNumber(uint8_t *to, DType dtype, int64_t count, double value) {
  for (int64_t i = 0; i < count; ++i)
    storeNumber(to, dtype, i, value);
}

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
  if (column.random && spec.dtype == ACCUM_F32)
    return drawNormals(draws, spec.slabElements(), reinterpret_cast<float *>(slab.data()));
  if (column.random && spec.dtype == ACCUM_F64)
    return drawNormals(draws, spec.slabElements(), reinterpret_cast<double *>(slab.data()));
  // Indices uniform below their bound, other integers 0 or 1.
  for (int64_t i = 0, n = spec.slabElements(); i < n; ++i) {
    double value = column.random                         ? double(draws.below(drawnBelow(spec)))
                   : spec.synthesize == Synthesize::Iota ? double(iotaAt(spec, i))
                                                         : double(spec.synthesize == Synthesize::Ones);
    storeNumber(slab.data(), spec.dtype, i, value);
  }
}

/// The row, or null where it failed; the first failure stays.
template <typename T> const uint8_t *Dataset::kept(const Expected<T> &row) {
  if (row)
    return reinterpret_cast<const uint8_t *>(*row);
  if (failure)
    failure = row.error();
  return nullptr;
}

/// In memory, or read from its file.
const uint8_t *Dataset::shardRow(const Column &column, uint64_t sample) {
  size_t shard = shardOf(column, sample);
  const Array &array = column.shards[shard];
  RowPlace place = placeOfRow(column, shard, sample);
  const uint8_t *row = array.data + place.offset;
  if (!array.file)
    return row;
  Status status = array.file->read(row, place.bytes, slab.data());
  return kept(status ? Expected<const uint8_t *>(slab.data()) : Expected<const uint8_t *>(status.error()));
}

const uint8_t *Dataset::rowOf(const Column &column, size_t input, uint64_t sample) {
  if (!column.shards.empty())
    return shardRow(column, sample);
  if (column.role != TokenWindows::Role::None)
    return kept(tokens->read(column.role, sample));
  makeSlab(column, input, sample);
  return slab.data();
}

void Dataset::copyRow(size_t input, uint64_t sample, uint8_t *staging, int64_t row, int64_t m) {
  const Column &column = columns[input];
  const InputSpec &spec = *column.spec;
  int64_t elements = spec.slabElements(), inner = spec.shape[*spec.batchDim] / spec.outer;
  for (size_t d = *spec.batchDim + 1; d < spec.shape.size(); ++d)
    inner *= spec.shape[d];
  DType from = !column.shards.empty()                    ? column.shards.front().dtype
               : column.role != TokenWindows::Role::None ? ACCUM_I64
                                                         : spec.dtype;
  const uint8_t *source = rowOf(column, input, first + sample);
  for (int64_t piece = 0; source && piece < elements / inner; ++piece)
    convert(source + piece * inner * bytesOf(from), from,
            staging + (piece * m + row) * inner * bytesOf(spec.dtype), spec.dtype, inner);
}

bool Dataset::isInFiles() const {
  auto isMapped = [](const Column &column) { return !column.shards.empty() && column.shards.front().file; };
  return tokens || std::ranges::any_of(columns, isMapped);
}

void Dataset::touch(uint64_t sample, std::vector<uint8_t> &buffer) const {
  sample += first;
  if (tokens)
    tokens->touch(sample, buffer);
  for (const Column &column : columns) {
    if (column.shards.empty())
      continue;
    size_t shard = shardOf(column, sample);
    RowPlace place = placeOfRow(column, shard, sample);
    column.shards[shard].touch(place.offset, place.bytes, buffer);
  }
}

} // namespace accum::runtime
