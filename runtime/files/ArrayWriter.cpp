// SPDX-License-Identifier: Apache-2.0
// Arrays that come row by row, several at a time, into one file.
#include "runtime/files/ArrayWriter.h"
#include "runtime/files/SafetensorsWriter.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <zip.h>

namespace accum::runtime {
namespace {

/// So that what stands after it is aligned; numpy pads to as much.
constexpr uint64_t kNpyHeader = 256;

Error unwritable(const std::string &path, const std::string &why) {
  return {kExitFile, path + ": cannot be written: " + why, "unwritable"};
}

std::string npyHeader(DType dtype, const std::vector<int64_t> &shape) {
  std::string tuple;
  for (int64_t extent : shape)
    tuple += std::to_string(extent) + ",";
  std::string text = "{'descr': '" + std::string(numpyNameOf(dtype)) +
                     "', 'fortran_order': False, 'shape': (" + tuple + "), }";
  text.resize(kNpyHeader - 11, ' ');
  auto length = uint16_t(text.size() + 1);
  std::string head("\x93NUMPY\x01\x00", 8);
  head += char(length & 0xff);
  head += char(length >> 8);
  return head + text + "\n";
}

} // namespace

/// Of one array, after room for a .npy header.
struct ArrayWriter::Part {
  std::string name;
  DType dtype = ACCUM_F32;
  std::vector<int64_t> shape;
  int descriptor = -1;
  uint64_t bytes = kNpyHeader;
  uint8_t *mapped = nullptr;

  Part() = default;
  Part(const Part &) = delete;
  Part &operator=(const Part &) = delete;
  ~Part() {
    if (mapped)
      munmap(mapped, bytes);
    if (descriptor >= 0)
      close(descriptor);
  }

  /// Beside the result, where there is room for it.
  bool open(const std::string &path) {
    std::string pattern = path + ".rows-XXXXXX";
    descriptor = mkstemp(pattern.data());
    return descriptor >= 0 && unlink(pattern.c_str()) == 0;
  }

  bool append(const uint8_t *data, uint64_t count) {
    while (count > 0) {
      ssize_t written = pwrite(descriptor, data, count, off_t(bytes));
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      data += written;
      bytes += uint64_t(written);
      count -= uint64_t(written);
    }
    return true;
  }

  bool map() {
    if (bytes == kNpyHeader && ftruncate(descriptor, off_t(bytes)) != 0)
      return false;
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    mapped = at == MAP_FAILED ? nullptr : static_cast<uint8_t *>(at);
    if (mapped)
      std::memcpy(mapped, npyHeader(dtype, shape).data(), kNpyHeader);
    return mapped != nullptr;
  }
};

Expected<ArrayWriter> ArrayWriter::create(const std::string &path) {
  if (path.ends_with(".npz") || path.ends_with(".safetensors"))
    return ArrayWriter(path);
  return Error{kExitUsage, path + ": is neither FILE.npz nor FILE.safetensors", "usage"};
}

Status ArrayWriter::add(const std::string &name, DType dtype, const std::vector<int64_t> &shape,
                        const void *rows) {
  auto found = std::ranges::find(parts, name, [](const auto &part) { return part->name; });
  if (found == parts.end()) {
    auto part = std::make_shared<Part>();
    part->name = name;
    part->dtype = dtype;
    part->shape = shape;
    part->shape.front() = 0;
    if (!part->open(path))
      return unwritable(path, std::strerror(errno));
    found = parts.insert(parts.end(), std::move(part));
  }
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  (*found)->shape.front() += shape.front();
  if (!(*found)->append(static_cast<const uint8_t *>(rows), uint64_t(elements) * bytesOf(dtype)))
    return unwritable(path, std::strerror(errno));
  return {};
}

/// Through a temporary file of the library's own, which it renames. Not compressed: what is predicted is
/// noise in its last bits.
Status ArrayWriter::commitNpz() {
  int code = 0;
  zip_t *archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive)
    return unwritable(path, std::strerror(errno));
  bool isGood = true;
  for (const auto &part : parts) {
    zip_source_t *source = zip_source_buffer(archive, part->mapped, part->bytes, 0);
    zip_int64_t index =
        source ? zip_file_add(archive, (part->name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    isGood &= index >= 0 && zip_set_file_compression(archive, zip_uint64_t(index), ZIP_CM_STORE, 0) == 0;
  }
  if (isGood && zip_close(archive) == 0)
    return {};
  Error error = unwritable(path, zip_strerror(archive));
  zip_discard(archive);
  return error;
}

Status ArrayWriter::commit() {
  for (const auto &part : parts)
    if (!part->map())
      return unwritable(path, std::strerror(errno));
  if (path.ends_with(".npz"))
    return commitNpz();
  std::vector<TensorToWrite> tensors;
  for (const auto &part : parts)
    tensors.push_back({part->name, part->mapped + kNpyHeader, part->dtype, part->shape});
  return writeSafetensors(path, tensors, /*keepOld=*/false);
}

} // namespace accum::runtime
