// SPDX-License-Identifier: Apache-2.0
// A file that several processes write, each its own ranges.
#ifndef ACCUM_RUNTIME_FILES_RANGEWRITER_H
#define ACCUM_RUNTIME_FILES_RANGEWRITER_H

#include "runtime/system/Status.h"
#include <cstdint>
#include <memory>
#include <string>

namespace accum::runtime {

/// Errors have the slug `unwritable` (exit 3) and name the file.
class RangeWriter {
public:
  /// Makes the file, of `bytes` bytes that have no place on the disk yet.
  static Expected<std::unique_ptr<RangeWriter>> create(const std::string &path, uint64_t bytes);
  /// Opens a file that another process has made.
  static Expected<std::unique_ptr<RangeWriter>> open(const std::string &path);
  ~RangeWriter();
  RangeWriter(const RangeWriter &) = delete;
  RangeWriter &operator=(const RangeWriter &) = delete;

  /// Writes a range, and asks the system to bring it to the disk.
  Status write(uint64_t offset, const void *data, uint64_t bytes);
  /// All ranges that this process wrote are on the disk when it returns.
  Status sync();

private:
  RangeWriter(std::string path, int descriptor) : path(std::move(path)), descriptor(descriptor) {}
  static Expected<std::unique_ptr<RangeWriter>> open(const std::string &path, int flags);
  Error failure() const;
  std::string path;
  int descriptor;
};

} // namespace accum::runtime
#endif
