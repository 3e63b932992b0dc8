// SPDX-License-Identifier: Apache-2.0
// Header first, then every tensor in pieces of about a megabyte.
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/files/File.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

std::string safetensorsHeader(const std::vector<TensorToWrite> &tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = {{"format", "pt"}};
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    uint64_t end = offset + tensor.fileBytes();
    header[tensor.name] = {{"dtype", safetensorsNameOf(tensor.fileType())},
                           {"shape", tensor.fileShape()},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // so that the data starts aligned
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof length) + text;
}

Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors, bool keepOld,
                        const TensorReader &read) {
  auto writer = FileWriter::create(path);
  if (!writer)
    return writer.error();
  ByteSink sink = [&](const uint8_t *data, uint64_t bytes) { return (*writer)->write(data, bytes); };
  std::string header = safetensorsHeader(tensors);
  if (Status status = sink(reinterpret_cast<const uint8_t *>(header.data()), header.size()); !status)
    return status;
  for (const TensorToWrite &tensor : tensors)
    if (Status status = streamTensor(tensor, read, sink); !status)
      return status;
  return (*writer)->commit(keepOld);
}

} // namespace accum::runtime
