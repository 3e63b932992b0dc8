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

class Stream {
public:
  Stream(const TensorToWrite &tensor, const ByteSink &sink)
      : tensor(tensor), sink(sink), size(bytesOf(tensor.dtype)), piece(kPieceElements * size) {}

  Status plain();
  Status turned();

private:
  Status put(int64_t count);
  Error overflow(int64_t index) const;

  const TensorToWrite &tensor;
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
  for (uint64_t done = 0; isAsItIs && done < bytes; done += kPlainBytes)
    if (Status status = sink(tensor.data + done, std::min(kPlainBytes, bytes - done)); !status)
      return status;
  for (int64_t first = 0; !isAsItIs && first < tensor.elements(); first += kPieceElements) {
    int64_t now = std::min(kPieceElements, tensor.elements() - first);
    std::memcpy(piece.data(), tensor.data + first * size, now * size);
    if (Status status = put(now); !status)
      return status;
  }
  return {};
}

/// Row after row of the file: a column of the memory's matrix.
Status Stream::turned() {
  int64_t rows = tensor.shape[0], columns = tensor.shape[1], held = 0;
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(piece.data() + held * size, tensor.data + (row * columns + column) * size, size);
      bool last = column == columns - 1 && row == rows - 1;
      if (++held < kPieceElements && !last)
        continue;
      if (Status status = put(held); !status)
        return status;
      held = 0;
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

Status streamTensor(TensorToWrite tensor, const TensorReader &read, const ByteSink &sink) {
  if (read) {
    auto data = read(tensor.data, tensor.elements() * bytesOf(tensor.dtype));
    if (!data)
      return data.error();
    tensor.data = *data;
  }
  Stream stream(tensor, sink);
  return tensor.transposed ? stream.turned() : stream.plain();
}

} // namespace accum::runtime
