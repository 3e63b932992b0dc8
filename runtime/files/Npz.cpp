// SPDX-License-Identifier: Apache-2.0
// The .npz reader: a zip archive of .npy files, unpacked into memory by libzip.
#include "runtime/files/Array.h"
#include <zip.h>

namespace accum::runtime {
namespace {

// Deflate cannot do better than about 1:1032; a larger claim is a damaged directory, not an array to allocate
// for.
constexpr uint64_t kMaxRatio = 1100;

using Archive = std::unique_ptr<zip_t, void (*)(zip_t *)>;

Expected<Array> readMember(zip_t *archive, uint64_t index, const std::string &path) {
  zip_stat_t info;
  if (zip_stat_index(archive, index, 0, &info) != 0)
    return notWhole(".npz file", path, zip_strerror(archive));
  std::string name = info.name;
  if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
    name.resize(name.size() - 4);
  if (info.size > info.comp_size * kMaxRatio + 4096)
    return notWhole(".npz file", path, "array `" + name + "` claims more bytes than it can hold");
  auto content = std::make_shared<std::vector<uint8_t>>(info.size);
  zip_file_t *member = zip_fopen_index(archive, index, 0);
  if (!member)
    return notWhole(".npz file", path, zip_strerror(archive));
  zip_int64_t got = zip_fread(member, content->data(), info.size);
  uint8_t behind;
  zip_int64_t more = zip_fread(member, &behind, 1); // reaches the end, where libzip checks the CRC
  zip_fclose(member);
  if (got != zip_int64_t(content->size()) || more != 0)
    return notWhole(".npz file", path, "array `" + name + "` is cut off or damaged");
  auto array = parseNpy(content->data(), content->size(), name, path);
  if (array && !array->storage)
    array->storage = content;
  return array;
}

} // namespace

Expected<std::vector<Array>> readNpz(const std::string &path) {
  if (auto probe = MappedFile::open(path); !probe) // says why a file cannot be read better than libzip does
    return probe.error();
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (!archive)
    return notWhole(".npz file", path, "it has no zip directory");
  std::vector<Array> arrays;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    auto array = readMember(archive.get(), i, path);
    if (!array)
      return array.error();
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

} // namespace accum::runtime
