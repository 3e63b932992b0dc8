// SPDX-License-Identifier: Apache-2.0
// POSIX calls behind RangeWriter.h.
#include "runtime/files/RangeWriter.h"
#include "runtime/files/File.h"
#include "runtime/system/ProgressCounter.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace accum::runtime {

Error RangeWriter::failure() const {
  return {kExitFile, path + ": cannot be written: " + std::strerror(errno), "unwritable"};
}

Expected<std::unique_ptr<RangeWriter>> RangeWriter::open(const std::string &path, int flags) {
  std::unique_ptr<RangeWriter> writer(
      new RangeWriter(path, ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666)));
  if (writer->descriptor < 0)
    return writer->failure();
  return writer;
}

Expected<std::unique_ptr<RangeWriter>> RangeWriter::create(const std::string &path, uint64_t bytes) {
  auto writer = open(path, O_CREAT | O_EXCL);
  if (writer && ftruncate((*writer)->descriptor, off_t(bytes)) != 0)
    return (*writer)->failure();
  return writer;
}

Expected<std::unique_ptr<RangeWriter>> RangeWriter::open(const std::string &path) { return open(path, 0); }

RangeWriter::~RangeWriter() {
  if (descriptor >= 0)
    close(descriptor);
}

Status RangeWriter::write(uint64_t offset, const void *data, uint64_t bytes) {
  const char *next = static_cast<const char *>(data);
  for (uint64_t done = 0; done < bytes;) {
    ssize_t put = pwrite(descriptor, next + done, bytes - done, off_t(offset + done));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure();
    done += uint64_t(put);
    countProgress();
  }
  // Else the disk would wait until all is written; what cannot be begun is written by `sync`.
  uint64_t begin = offset / kWriteback * kWriteback, end = (offset + bytes) / kWriteback * kWriteback;
  if (begin < end)
    sync_file_range(descriptor, off_t(begin), off_t(end - begin), SYNC_FILE_RANGE_WRITE);
  return {};
}

Status RangeWriter::sync() { return fsync(descriptor) == 0 ? Status() : failure(); }

} // namespace accum::runtime
