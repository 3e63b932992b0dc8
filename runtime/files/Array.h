// SPDX-License-Identifier: Apache-2.0
// A named array of a data or weight file, and the readers that make arrays: .safetensors, .npz, .npy.
#ifndef ACCUM_RUNTIME_FILES_ARRAY_H
#define ACCUM_RUNTIME_FILES_ARRAY_H

#include "runtime/files/DType.h"
#include "runtime/files/File.h"
#include <algorithm>
#include <cstdint>

namespace accum::runtime {

/// Row-major and dense. `data` may be unaligned: a safetensors header has any length.
struct Array {
  std::string name, path; ///< path: the file it came from, for messages
  DType dtype = ACCUM_F32;
  std::vector<int64_t> shape;
  const uint8_t *data = nullptr;
  std::shared_ptr<const void> storage;    ///< keeps `data` alive
  std::shared_ptr<const MappedFile> file; ///< set where data is mapped

  int64_t elements() const;
  uint64_t bytes() const { return elements() * bytesOf(dtype); }
  /// Reads [offset, offset + count) of the data into nowhere, through `buffer`, so that the system keeps it
  /// at hand. What fails, or lies in memory, is passed over.
  void touch(uint64_t offset, uint64_t count, std::vector<uint8_t> &buffer) const;
};

/// body(first, count, values) over [0, elements) in pieces of at most 1 MiB, at most 2 MiB in whatever dtype
/// they are converted to. Of a file they are read, not mapped: an array of any size can be gone through
/// without staying in the resident set, and one whose file becomes shorter is an error. Stops when body
/// returns false.
template <typename Body> Status forEachPiece(const Array &array, Body &&body) {
  int64_t size = int64_t(bytesOf(array.dtype)), step = (1 << 20) / std::max<int64_t>(size, 4),
          count = array.elements();
  std::vector<uint8_t> piece(array.file ? std::min(step, count) * size : 0);
  for (int64_t first = 0; first < count; first += step) {
    int64_t now = std::min(step, count - first);
    const uint8_t *values = array.data + first * size;
    if (array.file)
      if (Status status = array.file->read(values, uint64_t(now * size), piece.data()); !status)
        return status;
    if (!body(first, now, array.file ? piece.data() : values))
      break;
  }
  return {};
}

/// A line with the name of its file without folders, its own name, type and shape.
std::string nameAndSize(const Array &array);

/// "[3, 17]"; "[]" for a scalar.
std::string formatShape(const std::vector<int64_t> &shape);

/// Arrays in the order of their data in the file.
Expected<std::vector<Array>> readSafetensors(const std::string &path);
Expected<std::vector<Array>> readNpz(const std::string &path);
Expected<Array> readNpy(const std::string &path, const std::string &name);

/// `text` is a command-line word: FILE.safetensors, FILE.npz or NAME=FILE.npy.
Expected<std::vector<Array>> readArrays(const std::string &text);

/// Parses the .npy header at the start of `bytes` and points `data` behind it, or at a copy of its own
/// (`storage`) where the file is in Fortran order; refuses a body of another length.
Expected<Array> parseNpy(const uint8_t *bytes, uint64_t size, const std::string &name,
                         const std::string &path);

/// The number of elements, or nothing where an extent is negative or the bytes would pass 2^62.
std::optional<int64_t> countElements(const std::vector<int64_t> &shape, DType dtype);

} // namespace accum::runtime
#endif
