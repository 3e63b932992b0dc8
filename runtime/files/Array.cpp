// SPDX-License-Identifier: Apache-2.0
// What all array readers share.
#include "runtime/files/Array.h"
#include <algorithm>

namespace accum::runtime {
namespace {

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

int64_t Array::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

void Array::touch(uint64_t offset, uint64_t count, std::vector<uint8_t> &buffer) const {
  for (uint64_t done = 0; file && done < count; done += buffer.size())
    if (!file->read(data + offset + done, std::min<uint64_t>(buffer.size(), count - done), buffer.data()))
      return;
}

std::string nameAndSize(const Array &array) {
  return array.path.substr(array.path.rfind('/') + 1) + " " + array.name + " " +
         std::string(nameOf(array.dtype)) + " " + formatShape(array.shape) + "\n";
}

std::string formatShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<int64_t> countElements(const std::vector<int64_t> &shape, DType dtype) {
  constexpr int64_t kMax = int64_t(1) << 62;
  int64_t bytes = bytesOf(dtype);
  for (int64_t extent : shape)
    if (extent < 0)
      return std::nullopt;
  for (int64_t extent : shape) {
    if (extent != 0 && bytes > kMax / extent)
      return std::nullopt;
    bytes *= extent;
  }
  return bytes / int64_t(bytesOf(dtype));
}

namespace {

bool holdsText(const std::string &path) {
  constexpr const char *endings[] = {".txt", ".md", ".json", ".jsonl", ".csv", ".tsv"};
  return std::ranges::any_of(endings, [&](const char *ending) { return endsWith(path, ending); });
}

/// A line for Python that turns a text into a file that `--data` takes.
std::vector<std::string> waysToTokens(const std::string &path) {
  std::string tokens = path.substr(0, path.rfind('.')) + ".npy";
  return {"text becomes tokens by the model's own tokenizer: python -c \"import numpy, tokenizers; "
          "numpy.save('" +
              tokens +
              "', numpy.array(tokenizers.Tokenizer.from_file('tokenizer.json')"
              ".encode(open('" +
              path + "').read()).ids, 'uint32'))\", then --data " + tokens,
          "examples/characters trains on characters, without a tokenizer"};
}

} // namespace

Expected<std::vector<Array>> readArrays(const std::string &text) {
  if (endsWith(text, ".safetensors"))
    return readSafetensors(text);
  if (endsWith(text, ".npz"))
    return readNpz(text);
  size_t equals = text.find('=');
  if (!endsWith(text, ".npy") || equals == std::string::npos || equals == 0)
    return Error{kExitUsage,
                 "data `" + text +
                     "` is not FILE.safetensors, FILE.npz, NAME=FILE.npy, or tokens in FILE.bin " +
                     "or FILE.npy",
                 "usage", holdsText(text) ? waysToTokens(text) : std::vector<std::string>()};
  auto array = readNpy(text.substr(equals + 1), text.substr(0, equals));
  if (!array)
    return array.error();
  return std::vector<Array>{*array};
}

} // namespace accum::runtime
