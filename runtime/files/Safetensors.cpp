// SPDX-License-Identifier: Apache-2.0
// The safetensors reader: an 8-byte length, a JSON header, then the tensors' bytes.
#include "runtime/files/Array.h"
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace accum::runtime {
namespace {

// The format's own limit for the header.
constexpr uint64_t kMaxHeader = 100'000'000;

struct Entry {
  Array array;
  uint64_t begin, end;
};

Entry readEntry(const std::string &name, const nlohmann::json &json) {
  Entry entry;
  entry.array.name = name;
  std::string dtypeName = json.at("dtype").get<std::string>();
  auto dtype = dtypeOfSafetensors(dtypeName);
  if (!dtype)
    throw std::invalid_argument("tensor `" + name + "` has dtype " + dtypeName + ", which is not supported");
  entry.array.dtype = *dtype;
  entry.array.shape = json.at("shape").get<std::vector<int64_t>>();
  const nlohmann::json &offsets = json.at("data_offsets");
  if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    throw std::invalid_argument("tensor `" + name + "` has no offsets");
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  return entry;
}

std::vector<Entry> readHeader(const char *text, uint64_t bytes) {
  nlohmann::json header = nlohmann::json::parse(text, text + bytes);
  if (!header.is_object())
    throw std::invalid_argument("the header is not an object");
  std::vector<Entry> entries;
  for (const auto &[name, json] : header.items())
    if (name != "__metadata__")
      entries.push_back(readEntry(name, json));
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.begin < b.begin; });
  return entries;
}

std::optional<std::string> checkEntries(const std::vector<Entry> &entries, uint64_t dataBytes) {
  uint64_t covered = 0;
  for (const Entry &entry : entries) {
    auto elements = countElements(entry.array.shape, entry.array.dtype);
    if (!elements || entry.end < entry.begin ||
        entry.end - entry.begin != uint64_t(*elements) * bytesOf(entry.array.dtype))
      return "tensor `" + entry.array.name + "` has bytes that do not match its shape " +
             formatShape(entry.array.shape);
    if (entry.end > dataBytes)
      return "tensor `" + entry.array.name + "` ends behind the end of the file";
    if (entry.begin < covered)
      return "tensor `" + entry.array.name + "` overlaps the one before it";
    covered = entry.end;
  }
  return {};
}

} // namespace

Expected<std::vector<Array>> readSafetensors(const std::string &path) {
  auto opened = MappedFile::open(path);
  if (!opened)
    return opened.error();
  const std::shared_ptr<MappedFile> &file = *opened;
  uint64_t headerBytes = 0;
  if (file->size() < 8)
    return notWhole("safetensors file", path, "it has " + std::to_string(file->size()) + " bytes");
  std::memcpy(&headerBytes, file->data(), 8);
  if (headerBytes > kMaxHeader || headerBytes > file->size() - 8)
    return notWhole("safetensors file", path, "its header is cut off");
  try {
    std::vector<Entry> entries = readHeader(reinterpret_cast<const char *>(file->data()) + 8, headerBytes);
    if (auto finding = checkEntries(entries, file->size() - 8 - headerBytes))
      return notWhole("safetensors file", path, *finding);
    std::vector<Array> arrays;
    for (Entry &entry : entries) {
      entry.array.path = path;
      entry.array.data = file->data() + 8 + headerBytes + entry.begin;
      entry.array.storage = entry.array.file = file;
      arrays.push_back(std::move(entry.array));
    }
    return arrays;
  } catch (const std::exception &exception) {
    return notWhole("safetensors file", path, exception.what());
  }
}

} // namespace accum::runtime
