// SPDX-License-Identifier: Apache-2.0
// Arrays that come row by row, several at a time, into one .safetensors or .npz file.
#ifndef ACCUM_RUNTIME_FILES_ARRAYWRITER_H
#define ACCUM_RUNTIME_FILES_ARRAYWRITER_H

#include "runtime/files/DType.h"
#include "runtime/system/Status.h"
#include <cstdint>
#include <memory>

namespace accum::runtime {

/// Rows lie in files without a name alongside the result until all of them are there. Errors have the slug
/// `unwritable` (exit 3) and name the file.
class ArrayWriter {
public:
  /// Slug `usage` (exit 2) for a path that ends in neither.
  static Expected<ArrayWriter> create(const std::string &path);
  ArrayWriter(ArrayWriter &&) = default;

  /// The next rows of an array, which is new where nothing has come of it. `shape` is theirs, its first axis
  /// the one that grows.
  Status add(const std::string &name, DType dtype, const std::vector<int64_t> &shape, const void *rows);
  /// The file appears whole or not at all, in place of an existing one.
  Status commit();

private:
  struct Part;
  explicit ArrayWriter(std::string path) : path(std::move(path)) {}
  Status commitNpz();
  std::string path;
  std::vector<std::shared_ptr<Part>> parts;
};

} // namespace accum::runtime
#endif
