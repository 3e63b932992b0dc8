// SPDX-License-Identifier: Apache-2.0
// Header first, then every tensor in pieces of about a megabyte.
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/files/Convert.h"
#include "runtime/files/File.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace accum::runtime {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;

int64_t elementsOf(const TensorToWrite &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.shape)
    count *= extent;
  return count;
}

std::string makeHeader(const std::vector<TensorToWrite> &tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = {{"format", "pt"}};
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    std::vector<int64_t> shape = tensor.shape;
    if (tensor.transposed)
      std::swap(shape[0], shape[1]);
    uint64_t end = offset + elementsOf(tensor) * bytesOf(tensor.dtype);
    header[tensor.name] = {
        {"dtype", safetensorsNameOf(tensor.dtype)}, {"shape", shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // so that the data starts aligned
  return text;
}

Status writePlain(FileWriter &writer, const TensorToWrite &tensor, std::vector<uint8_t> &piece) {
  int64_t count = elementsOf(tensor), step = kPieceBytes / 8;
  size_t size = bytesOf(tensor.dtype);
  for (int64_t first = 0; first < count; first += step) {
    int64_t now = std::min(step, count - first);
    std::memcpy(piece.data(), tensor.data + first * size, now * size);
    for (int64_t i = 0; tensor.added != 0 && i < now; ++i)
      storeFloat(piece.data(), tensor.dtype, i, asDouble(piece.data(), tensor.dtype, i) - tensor.added);
    if (Status status = writer.write(piece.data(), now * size); !status)
      return status;
  }
  return {};
}

/// Row after row of the file: a column of the memory's matrix.
Status writeTransposed(FileWriter &writer, const TensorToWrite &tensor, std::vector<uint8_t> &piece) {
  int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  size_t size = bytesOf(tensor.dtype);
  int64_t held = 0, capacity = kPieceBytes / int64_t(size);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(piece.data() + held * size, tensor.data + (row * columns + column) * size, size);
      bool last = column == columns - 1 && row == rows - 1;
      if (++held < capacity && !last)
        continue;
      if (Status status = writer.write(piece.data(), held * size); !status)
        return status;
      held = 0;
    }
  return {};
}

Status writeTensor(FileWriter &writer, TensorToWrite tensor, const TensorReader &read,
                   std::vector<uint8_t> &piece) {
  if (read) {
    auto data = read(tensor.data, elementsOf(tensor) * bytesOf(tensor.dtype));
    if (!data)
      return data.error();
    tensor.data = *data;
  }
  return tensor.transposed ? writeTransposed(writer, tensor, piece) : writePlain(writer, tensor, piece);
}

} // namespace

Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors, bool keepOld,
                        const TensorReader &read) {
  auto writer = FileWriter::create(path);
  if (!writer)
    return writer.error();
  std::string header = makeHeader(tensors);
  uint64_t length = header.size();
  if (Status status = (*writer)->write(&length, sizeof length); !status)
    return status;
  if (Status status = (*writer)->write(header.data(), header.size()); !status)
    return status;
  std::vector<uint8_t> piece(kPieceBytes);
  for (const TensorToWrite &tensor : tensors)
    if (Status status = writeTensor(**writer, tensor, read, piece); !status)
      return status;
  return (*writer)->commit(keepOld);
}

} // namespace accum::runtime
