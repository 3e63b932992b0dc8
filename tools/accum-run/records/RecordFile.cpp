// SPDX-License-Identifier: Apache-2.0
// No buffer: what a full disk did not take would be written again when the file is closed.
#include "tools/accum-run/records/RecordFile.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace accum::run {

std::unique_ptr<RecordFile> RecordFile::open(const std::string &path, int flags) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
  return std::unique_ptr<RecordFile>(descriptor < 0 ? nullptr : new RecordFile(descriptor));
}

std::unique_ptr<RecordFile> RecordFile::ofStdout() {
  return std::unique_ptr<RecordFile>(new RecordFile(STDOUT_FILENO));
}

RecordFile::~RecordFile() {
  if (descriptor != STDOUT_FILENO)
    close(descriptor);
}

bool RecordFile::append(const std::string &record) {
  if (descriptor == STDOUT_FILENO && std::fflush(stdout) != 0)
    return false;
  off_t before = lseek(descriptor, 0, SEEK_END); // -1 for a pipe
  for (size_t done = 0; done < record.size();) {
    ssize_t written = ::write(descriptor, record.data() + done, record.size() - done);
    if (written >= 0)
      done += size_t(written);
    else if (errno != EINTR) {
      int code = errno;
      [[maybe_unused]] bool isCut = before >= 0 && ftruncate(descriptor, before) == 0; // a device is not
      errno = code;
      return false;
    }
  }
  return true;
}

} // namespace accum::run
