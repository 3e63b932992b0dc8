// SPDX-License-Identifier: Apache-2.0
// In pieces of about a megabyte.
#include "runtime/files/TensorStream.h"
#include "runtime/files/Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace accum::runtime {
namespace {

constexpr int64_t kPieceElements = (1 << 20) / 8;
/// Who takes it reads it twice, a checksum and a write: it should be in the cache by then.
constexpr uint64_t kPlainBytes = 512 << 10;
/// Of a matrix that is turned: so many columns are taken at a time.
constexpr int64_t kTransposedBytes = 4 << 20;

class Stream {
public:
  Stream(const TensorToWrite &tensor, const TensorReader &read, const ByteSink &sink)
      : tensor(tensor), read(read), sink(sink), size(bytesOf(tensor.dtype)), piece(kPieceElements * size) {}

  Status plain();
  Status turned();

private:
  /// So many bytes of the tensor in memory, until the next call.
  Expected<const uint8_t *> at(uint64_t offset, uint64_t bytes) const {
    return read ? read(tensor.data + offset, bytes) : tensor.data + offset;
  }
  Status takeColumns(int64_t first, int64_t count, std::vector<uint8_t> &columns) const;
  Status put(int64_t count);
  Error overflow(int64_t index) const;

  const TensorToWrite &tensor;
  const TensorReader &read;
  const ByteSink &sink;
  size_t size;
  std::vector<uint8_t> piece, rounded;
};

Error Stream::overflow(int64_t index) const {
  return {kExitRunFailed,
          fmt::format("`{}` holds {:.6g}, which is beyond the largest number of {}", tensor.name,
                      asDouble(piece.data(), tensor.dtype, index), nameOf(tensor.fileType())),
          "overflow",
          {"bf16 has the range of f32"}};
}

/// The first `count` elements of the piece.
Status Stream::put(int64_t count) {
  DType to = tensor.fileType();
  for (int64_t i = 0; tensor.added != 0 && i < count; ++i)
    storeFloat(piece.data(), tensor.dtype, i, asDouble(piece.data(), tensor.dtype, i) - tensor.added);
  if (to == tensor.dtype)
    return sink(piece.data(), count * size);
  rounded.resize(count * bytesOf(to));
  convert(piece.data(), tensor.dtype, rounded.data(), to, count);
  for (int64_t i = 0; i < count; ++i)
    if (std::isinf(asDouble(rounded.data(), to, i)) && std::isfinite(asDouble(piece.data(), tensor.dtype, i)))
      return overflow(i);
  return sink(rounded.data(), rounded.size());
}

Status Stream::plain() {
  uint64_t bytes = tensor.elements() * size;
  bool isAsItIs = tensor.fileType() == tensor.dtype && tensor.added == 0;
  uint64_t step = isAsItIs ? kPlainBytes : uint64_t(kPieceElements) * size;
  for (uint64_t done = 0; done < bytes; done += step) {
    uint64_t count = std::min(step, bytes - done);
    auto data = at(done, count);
    if (!data)
      return data.error();
    if (!isAsItIs)
      std::memcpy(piece.data(), *data, count);
    if (Status status = isAsItIs ? sink(*data, count) : put(int64_t(count / size)); !status)
      return status;
  }
  return {};
}

/// Columns of the memory's matrix, row after row of it, as many rows at once as make a piece.
Status Stream::takeColumns(int64_t first, int64_t count, std::vector<uint8_t> &columns) const {
  int64_t rows = tensor.shape[0], row = tensor.shape[1] * int64_t(size);
  int64_t step = std::max<int64_t>(int64_t(kPlainBytes) / row, 1);
  for (int64_t begin = 0; begin < rows; begin += step) {
    int64_t now = std::min(step, rows - begin);
    auto data = at(uint64_t(begin * row), uint64_t(now * row));
    if (!data)
      return data.error();
    for (int64_t i = 0; i < now; ++i)
      std::memcpy(columns.data() + (begin + i) * count * int64_t(size),
                  *data + i * row + first * int64_t(size), count * size);
  }
  return {};
}

/// Row after row of the file: a column of the memory's matrix.
Status Stream::turned() {
  int64_t rows = tensor.shape[0], columns = tensor.shape[1], held = 0;
  int64_t width =
      std::clamp<int64_t>(kTransposedBytes / std::max<int64_t>(rows * int64_t(size), 1), 1, columns);
  std::vector<uint8_t> taken(rows * width * size);
  for (int64_t first = 0; first < columns; first += width) {
    int64_t count = std::min(width, columns - first);
    if (Status status = takeColumns(first, count, taken); !status)
      return status;
    for (int64_t column = 0; column < count; ++column)
      for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(piece.data() + held * size, taken.data() + (row * count + column) * size, size);
        bool last = first + column == columns - 1 && row == rows - 1;
        if (++held < kPieceElements && !last)
          continue;
        if (Status status = put(held); !status)
          return status;
        held = 0;
      }
  }
  return {};
}

} // namespace

std::vector<int64_t> TensorToWrite::fileShape() const {
  std::vector<int64_t> result = shape;
  if (transposed)
    std::swap(result[0], result[1]);
  return result;
}

int64_t TensorToWrite::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

Status streamTensor(const TensorToWrite &tensor, const TensorReader &read, const ByteSink &sink) {
  Stream stream(tensor, read, sink);
  return tensor.transposed && tensor.elements() > 0 ? stream.turned() : stream.plain();
}

} // namespace accum::runtime
