// SPDX-License-Identifier: Apache-2.0
// Files: mapped for reading, and written so that a reader never sees half of one.
#ifndef ACCUM_RUNTIME_FILES_FILE_H
#define ACCUM_RUNTIME_FILES_FILE_H

#include "runtime/system/Status.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace accum::runtime {

/// A regular file mapped read-only. Pages that were read can be given back with `release`: they stay in the
/// page cache and leave the process's resident set.
class MappedFile {
public:
  static Expected<std::shared_ptr<MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const uint8_t *data() const { return base; }
  uint64_t size() const { return bytes; }
  const std::string &path() const { return name; }
  void release() const;
  /// The same for the pages that lie wholly within [from, from + bytes).
  void release(const uint8_t *from, uint64_t bytes) const;
  /// Copies [from, from + bytes) of the mapping to `to`, without mapping a page: around one that is touched
  /// the kernel maps others, up to 2 MiB. Fails where the file has become shorter, or cannot be read.
  Status read(const uint8_t *from, uint64_t bytes, uint8_t *to) const;

private:
  MappedFile(std::string path, const uint8_t *base, uint64_t bytes, int descriptor);
  std::string name;
  const uint8_t *base;
  uint64_t bytes;
  int descriptor;
};

/// `PATH: is not a whole KIND: WHAT`, slug `malformed`.
Error notWhole(const std::string &kind, const std::string &path, const std::string &what);

/// The whole text of a file of at most `limit` bytes.
Expected<std::string> readText(const std::string &path, uint64_t limit);

/// XXH3 64 bit of a file, 16 lowercase hexadecimal digits, read in pieces.
Expected<std::string> hashFile(const std::string &path);

/// The same of its parts, which have so many bytes one after the other, and of what is behind them where
/// there is something, or where there are no parts.
Expected<std::vector<std::string>> hashFile(const std::string &path, const std::vector<uint64_t> &parts);

/// Bytes that the disk is given at once, while more are written: a sync at the end would wait for all of
/// them.
inline constexpr uint64_t kWriteback = 8 << 20;

/// Writes PATH through a temporary file beside it. Nothing is at PATH until commit, which syncs and renames;
/// without commit the temporary file disappears. An existing PATH is kept as PATH.1 when asked for; folders,
/// devices and the like are refused.
class FileWriter {
public:
  static Expected<std::unique_ptr<FileWriter>> create(const std::string &path);
  ~FileWriter();
  FileWriter(const FileWriter &) = delete;
  FileWriter &operator=(const FileWriter &) = delete;

  Status write(const void *data, uint64_t bytes);
  Status commit(bool keepOld);

private:
  FileWriter(std::string path, std::string temporary, int descriptor);
  Error failure(const std::string &action) const;
  void startWriteback();
  std::string path, temporary;
  int descriptor;
  uint64_t written = 0, onItsWay = 0; ///< bytes; those that the system was asked to bring to the disk
};

} // namespace accum::runtime
#endif
