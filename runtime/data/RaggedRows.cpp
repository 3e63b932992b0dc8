// SPDX-License-Identifier: Apache-2.0
// Samples of their own lengths: where each ends, which size holds it, and its row at that size.
#include "runtime/data/Dataset.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

namespace accum::runtime {
namespace {

/// Elements of a slab before, and after, one place along the axis.
std::pair<int64_t, int64_t> aroundAxis(const InputSpec &spec) {
  auto axis = spec.shape.begin() + spec.padded->axis;
  auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
  };
  return {product(spec.shape.begin(), axis), product(axis + 1, spec.shape.end())};
}

/// Of padded arrays, whose samples have one length.
int64_t widthOf(const Column &column, size_t shard) {
  const Array &array = column.shards[shard];
  // Without an axis for the one row of a sample, samples take its place.
  return array.shape[size_t(column.spec->padded->axis)];
}

Status readIntegers(const Array &array, std::vector<int64_t> &values) {
  return forEachPiece(array, [&](int64_t, int64_t count, const uint8_t *piece) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(asInteger(piece, array.dtype, i));
    return true;
  });
}

Error badOffsets(const Array &array, const std::string &what) {
  return badData(array.path + ": array `" + array.name + "` " + what);
}

/// They begin at 0, ascend, and end where the values do.
Status checkOffsets(const Array &array, const std::vector<int64_t> &offsets, const Array &values) {
  if (offsets.size() < 2 || array.shape.size() != 1)
    return badOffsets(array, "has shape " + formatShape(array.shape) + ", expected [samples + 1]");
  if (offsets.front() != 0)
    return badOffsets(array, "begins at " + std::to_string(offsets.front()) + ", expected 0");
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1])
      return badOffsets(array, "falls from " + std::to_string(offsets[i - 1]) + " to " +
                                   std::to_string(offsets[i]) + " at sample " + std::to_string(i - 1));
  if (int64_t held = values.shape.empty() ? 0 : values.shape[0]; offsets.back() != held)
    return badOffsets(array, "ends at " + std::to_string(offsets.back()) + ", but `" + values.name +
                                 "` holds " + std::to_string(held) + " rows");
  return {};
}

/// What one place along the axis holds: the axes after it.
Status checkRaggedShape(const InputSpec &spec, const Array &values) {
  std::vector<int64_t> expected(spec.shape.begin() + 2, spec.shape.end());
  std::vector<int64_t> rest(values.shape.begin() + !values.shape.empty(), values.shape.end());
  if (spec.padded->axis == 1 && !values.shape.empty() && rest == expected)
    return {};
  std::string shape = "[total";
  for (int64_t extent : expected)
    shape += ", " + std::to_string(extent);
  return badData(values.path + ": array `" + values.name + "` has shape " + formatShape(values.shape) +
                 " and offsets, expected " + shape + "]");
}

Error tooLong(size_t sample, const Column *leader, int64_t length, const std::string &dim, int64_t most) {
  Error error = badData("sample " + std::to_string(sample) +
                        (leader ? " of `" + leader->spec->name + "`" : "") + " is " + std::to_string(length) +
                        " long, the largest size of `" + dim + "` is " + std::to_string(most));
  error.notes.push_back("--truncate cuts what is longer, or compile with a larger size: --dim " + dim +
                        "=...," + std::to_string(length));
  return error;
}

Error hasHole(const Column &column, size_t sample) {
  const Array &array = column.shards.front();
  Error error = badData(array.path + ": sample " + std::to_string(sample) + " of `" + array.name +
                        "` is padded before its last place");
  error.notes.emplace_back("a program of several lengths takes padding at the end alone: tokenizers have "
                           "padding_side=\"right\"; one --dim NAME=SIZE takes any");
  return error;
}

} // namespace

RowPlace placeOfRow(const Column &column, size_t shard, uint64_t sample) {
  const InputSpec &spec = *column.spec;
  const Array &array = column.shards[shard];
  auto elements = uint64_t(spec.slabElements());
  uint64_t element = bytesOf(array.dtype), number = sample - uint64_t(column.starts[shard]);
  if (!spec.padded)
    return {number * elements * element, elements * element, 1};
  uint64_t places = elements / uint64_t(spec.shape[size_t(spec.padded->axis)]) * element;
  if (column.offsets.empty()) {
    int64_t width = widthOf(column, shard);
    return {number * places * uint64_t(width), places * uint64_t(width), width};
  }
  const std::vector<int64_t> &offsets = column.offsets[shard];
  int64_t begin = offsets[number], end = offsets[number + 1];
  return {uint64_t(begin) * places, uint64_t(end - begin) * places, end - begin};
}

/// `NAME.offsets` alongside `NAME`, in each shard.
Status Dataset::matchOffsets(std::vector<Shards> &arrays, Column &column) {
  const InputSpec &spec = *column.spec;
  auto found = std::ranges::find_if(
      arrays, [&](const Shards &shards) { return shards.front().name == spec.name + ".offsets"; });
  if (!spec.padded || found == arrays.end())
    return {};
  Shards all = std::move(*found);
  arrays.erase(found);
  if (all.size() != column.shards.size())
    return badOffsets(all.front(), "is not in each file that holds `" + spec.name + "`");
  for (size_t shard = 0; shard < all.size(); ++shard) {
    if (isFloat(all[shard].dtype))
      return badOffsets(all[shard], "holds no integers");
    if (Status status = checkRaggedShape(spec, column.shards[shard]); !status)
      return status;
    Status status = readIntegers(all[shard], column.offsets.emplace_back());
    if (status)
      status = checkOffsets(all[shard], column.offsets.back(), column.shards[shard]);
    if (!status)
      return status;
  }
  return {};
}

/// Of the arrays that have the dimension; they agree.
int64_t Dataset::lengthOf(int64_t dim, uint64_t sample) const {
  for (const Column &column : columns)
    if (column.spec->padded && column.spec->padded->dim == dim && !column.shards.empty()) {
      auto after = std::ranges::upper_bound(column.starts, int64_t(sample));
      return placeOfRow(column, size_t(after - column.starts.begin()) - 1, sample).length;
    }
  return longestRow;
}

void Dataset::takeLargest(const Manifest &manifest) {
  if (manifest.lengths.empty())
    return;
  needs.assign(size_t(count), uint8_t(manifest.lengths.size() - 1));
  longestRow = std::ranges::max(manifest.lengths.back().sizes);
}

namespace {

/// Where the samples of one input end: after the last place that is no padding.
class SampleEnds {
public:
  SampleEnds(const Column &column, size_t samples) : column(column), held(samples, 0) {
    auto [before, after] = aroundAxis(*column.spec);
    outer = before;
    inner = after;
    ends.assign(samples * size_t(outer), 0);
  }

  Status read(size_t shard) {
    const Array &array = column.shards[shard];
    enter(shard, size_t(column.starts[shard]), 0);
    return forEachPiece(array, [&](int64_t flat, int64_t piece, const uint8_t *values) {
      for (int64_t i = 0; i < piece; ++i)
        if (auto [row, at] = placeOf(shard, flat + i); asDouble(values, array.dtype, i) != padding()) {
          int32_t &end = ends[sample * size_t(outer) + size_t(row)];
          end = std::max(end, int32_t(at + 1));
          ++held[sample];
        }
      return true;
    });
  }

  int32_t endOf(size_t number) const { return std::ranges::max(rowsOf(number)); }
  bool hasEmptyRow(size_t number) const { return std::ranges::min(rowsOf(number)) == 0; }
  bool hasHole(size_t number) const {
    auto rows = rowsOf(number);
    return held[number] != std::accumulate(rows.begin(), rows.end(), int64_t(0)) * inner;
  }

private:
  /// Where each row ends.
  std::span<const int32_t> rowsOf(size_t number) const {
    return std::span(ends).subspan(number * size_t(outer), size_t(outer));
  }

  double padding() const { return column.spec->padded->padding; }

  void enter(size_t shard, size_t number, int64_t from) {
    sample = number;
    begin = from;
    length = placeOfRow(column, shard, number).length;
  }

  /// The row of its sample, and the place along the axis, of an element of the shard. Calls come in order.
  std::pair<int64_t, int64_t> placeOf(size_t shard, int64_t flat) {
    while (flat >= begin + outer * inner * length)
      enter(shard, sample + 1, begin + outer * inner * length);
    return {(flat - begin) / inner / length, (flat - begin) / inner % length};
  }

  const Column &column;
  std::vector<int64_t> held; // elements that are no padding
  std::vector<int32_t> ends; // of each row of each sample
  int64_t outer, inner;      // elements around the axis
  size_t sample = 0;         // of the element before
  int64_t begin = 0, length = 0;
};

} // namespace

/// The last place of each sample that is no padding, in an input that says where samples end.
Status Dataset::noteNeeds(const Column &column, std::vector<int32_t> &needed) const {
  const PaddedAxis &padded = *column.spec->padded;
  SampleEnds found(column, needed.size());
  for (size_t shard = 0; shard < column.shards.size(); ++shard)
    if (Status status = found.read(shard); !status)
      return status;
  for (size_t sample = 0; sample < needed.size(); ++sample) {
    int32_t end = found.endOf(sample);
    if (padded.isOnes && found.hasHole(sample))
      return hasHole(column, sample);
    // A query whose places are all hidden looks at all places alike.
    if (padded.isOnes && found.hasEmptyRow(sample))
      end = int32_t(column.spec->shape[size_t(padded.axis)]);
    needed[sample] = std::max(needed[sample], end);
  }
  return {};
}

/// A mask that is made is 1 up to where the arrays end. Whether it says where samples end.
bool Dataset::noteMadeMask(const Column &column, std::vector<int32_t> &needed) const {
  const PaddedAxis &padded = *column.spec->padded;
  if (!padded.isMask || column.spec->synthesize != Synthesize::Ones || padded.padding == 1)
    return false;
  for (size_t sample = 0; sample < needed.size(); ++sample) {
    int64_t end = lengthOf(padded.dim, sample);
    if (padded.isOnes && end == 0)
      end = column.spec->shape[size_t(padded.axis)];
    needed[sample] = std::max(needed[sample], int32_t(end));
  }
  return true;
}

/// Where nothing says where a sample ends, it has the array's length.
Status Dataset::findNeeds(const Manifest &manifest) {
  const std::vector<LengthSpec> &lengths = manifest.lengths;
  if (lengths.empty())
    return {};
  takeLargest(manifest);
  std::ranges::fill(needs, uint8_t(0));
  for (size_t dim = 0; dim < manifest.lengthDims.size(); ++dim) {
    std::vector<int32_t> needed(size_t(count), 0);
    bool isMasked = false;
    const Column *leader = nullptr;
    for (const Column &column : columns) {
      if (column.spec->padded && column.spec->padded->dim == int64_t(dim) && column.shards.empty())
        isMasked |= noteMadeMask(column, needed);
      if (!column.spec->padded || column.spec->padded->dim != int64_t(dim) || column.shards.empty())
        continue;
      for (size_t shard = 0, sample = 0; shard < column.shards.size(); ++shard)
        for (; int64_t(sample) < column.starts[shard + 1]; ++sample) {
          int64_t own = placeOfRow(column, shard, sample).length, other = lengthOf(int64_t(dim), sample);
          longestRow = std::max(longestRow, own);
          if (own != other)
            return badData(column.shards[shard].path + ": `" + column.spec->name + "` has " +
                           std::to_string(own) + " places in sample " + std::to_string(sample) + ", `" +
                           leader->spec->name + "` has " + std::to_string(other));
        }
      leader = leader ? leader : &column;
      if (!column.spec->padded->isMask)
        continue;
      isMasked = true;
      if (Status status = noteNeeds(column, needed); !status)
        return status;
    }
    int64_t most = lengths.back().sizes[dim], cut = 0;
    for (size_t sample = 0; sample < needed.size(); ++sample) {
      int64_t own = isMasked ? needed[sample] : lengthOf(int64_t(dim), sample);
      if (own > most && !truncates)
        return tooLong(sample, leader, own, manifest.lengthDims[dim], most);
      cut += own > most;
      while (needs[sample] + size_t(1) < lengths.size() && own > lengths[needs[sample]].sizes[dim])
        ++needs[sample];
    }
    if (cut > 0)
      decisions.push_back(std::to_string(cut) + " of " + std::to_string(count) +
                          " samples are longer than the largest size of `" + manifest.lengthDims[dim] +
                          "`, and end after " + std::to_string(most) + " places");
  }
  return {};
}

void Dataset::copyPadded(size_t input, uint64_t sample, uint8_t *staging, int64_t row,
                         const LengthSpec &length) {
  const Column &column = columns[input];
  if (!column.spec->padded)
    return copyRow(input, sample, staging, row, length.m);
  const InputSpec spec = column.spec->at(length);
  auto [before, after] = aroundAxis(spec);
  int64_t size = spec.shape[size_t(spec.padded->axis)], own = lengthOf(spec.padded->dim, first + sample);
  bool isMade = column.shards.empty();
  DType from = !isMade                                   ? column.shards.front().dtype
               : column.role != TokenWindows::Role::None ? ACCUM_I64
                                                         : spec.dtype;
  int64_t largest = column.spec->shape[size_t(spec.padded->axis)], held = isMade ? largest : own;
  own = std::min(own, held);
  const uint8_t *source = rowOf(column, input, first + sample);
  if (!source)
    return;
  int64_t taken = std::min(own, size), element = int64_t(bytesOf(spec.dtype));
  uint8_t *target = staging + row * before * size * after * element;
  for (int64_t piece = 0; piece < before; ++piece) {
    convert(source + piece * held * after * int64_t(bytesOf(from)), from,
            target + piece * size * after * element, spec.dtype, taken * after);
    fillNumber(target + (piece * size + taken) * after * element, spec.dtype, (size - taken) * after,
               spec.padded->padding);
  }
}

} // namespace accum::runtime
