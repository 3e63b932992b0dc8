// SPDX-License-Identifier: Apache-2.0
// pread and pwrite in pieces, on a thread that a step waits for only where it must.
#include "runtime/host/OffloadFile.h"
#include "base/FormatBytes.h"
#include "runtime/system/Memory.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace accum::runtime {
namespace {

constexpr uint64_t kPiece = 8 << 20;
constexpr size_t kMostWaiting = 64; // of two units

Error cannot(const std::string &folder, const std::string &what, const char *slug) {
  return {
      kExitFile, "offloaded state: `" + folder + "` " + what, slug, {"--offload-dir names another folder"}};
}

/// A file that no folder lists; where the file system has none such, one whose name is taken away again.
int openNameless(const std::string &folder) {
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
    return descriptor;
  std::string name = folder + "/.offload-XXXXXX";
  descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0)
    ::unlink(name.c_str());
  return descriptor;
}

/// For one file: of the disk, or as much as this process may write into one.
uint64_t roomIn(const std::string &folder) {
  struct statvfs space;
  struct rlimit limit;
  uint64_t free = ::statvfs(folder.c_str(), &space) == 0 ? uint64_t(space.f_bavail) * space.f_frsize : 0;
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? std::min<uint64_t>(free, limit.rlim_cur) : free;
}

} // namespace

Expected<std::unique_ptr<OffloadFile>> OffloadFile::create(const std::string &folder, uint64_t bytes) {
  struct statfs system;
  if (::statfs(folder.c_str(), &system) != 0)
    return cannot(folder, std::string("cannot be used: ") + std::strerror(errno), "file-unwritable");
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)
    return Error{kExitUsage,
                 "offloaded state: `" + folder + "` lies in memory, of which offload is to take less",
                 "usage",
                 {"--offload-dir names a folder on a disk"}};
  int descriptor = openNameless(folder);
  if (descriptor < 0)
    return cannot(folder, std::string("takes no file: ") + std::strerror(errno), "file-unwritable");
  std::unique_ptr<OffloadFile> file(new OffloadFile(folder, descriptor));
  // A disk that fills up later would end a run in the middle.
  int code = bytes == 0 ? 0 : ::posix_fallocate(descriptor, 0, off_t(bytes));
  if (code == ENOSPC || code == EFBIG) {
    return cannot(folder, "has room for " + formatBytes(roomIn(folder)) + ", not for " + formatBytes(bytes),
                  "disk-full");
  }
  if (code != 0)
    return cannot(folder, std::string("cannot hold the file: ") + std::strerror(code), "file-unwritable");
  return file;
}

OffloadFile::OffloadFile(std::string folder, int descriptor)
    : folder(std::move(folder)), descriptor(descriptor) {
  waiting.reserve(kMostWaiting);
  begun.reserve(kMostWaiting);
  worker = startQuietThread([this] { work(); });
}

OffloadFile::~OffloadFile() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  worker.join();
  ::close(descriptor);
}

Status OffloadFile::move(const Transfer &transfer) const {
  for (uint64_t done = 0; done < transfer.bytes;) {
    size_t piece = size_t(std::min(transfer.bytes - done, kPiece));
    auto at = off_t(transfer.offset + done);
    ssize_t moved = transfer.writes ? ::pwrite(descriptor, transfer.memory + done, piece, at)
                                    : ::pread(descriptor, transfer.memory + done, piece, at);
    if (moved < 0 && errno == EINTR)
      continue;
    if (moved <= 0)
      return cannot(folder,
                    std::string(transfer.writes ? "cannot be written: " : "cannot be read: ") +
                        (moved < 0 ? std::strerror(errno) : "it is shorter than it was"),
                    "file-unwritable");
    done += uint64_t(moved);
  }
  return {};
}

void OffloadFile::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (ends)
      return;
    Transfer next = waiting.front();
    lock.unlock();
    Status status = move(next);
    lock.lock();
    if (!status && outcome)
      outcome = status;
    waiting.erase(waiting.begin());
    changed.notify_all();
  }
}

void OffloadFile::start(Transfer transfer) {
  {
    std::lock_guard lock(mutex);
    waiting.push_back(transfer);
    begun.push_back(transfer);
  }
  changed.notify_all();
}

void OffloadFile::startRead(uint64_t offset, uint8_t *to, uint64_t bytes) {
  start({offset, to, bytes, false});
}

void OffloadFile::startWrite(uint64_t offset, const uint8_t *from, uint64_t bytes) {
  start({offset, const_cast<uint8_t *>(from), bytes, true}); // only read
}

void OffloadFile::forget() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.empty(); });
  begun.clear();
}

Status OffloadFile::end(const Transfer &transfer) {
  std::unique_lock lock(mutex);
  auto known = std::find(begun.begin(), begun.end(), transfer);
  bool isBegun = known != begun.end();
  if (isBegun)
    begun.erase(known);
  changed.wait(lock, [&] {
    return isBegun ? std::find(waiting.begin(), waiting.end(), transfer) == waiting.end() : waiting.empty();
  });
  Status before = outcome; // of transfers that were begun later, too
  lock.unlock();
  return isBegun || !before ? before : move(transfer); // where it was not begun, nothing else is under way
}

Status OffloadFile::read(uint64_t offset, uint8_t *to, uint64_t bytes) {
  return end({offset, to, bytes, false});
}

Status OffloadFile::write(uint64_t offset, const uint8_t *from, uint64_t bytes) {
  return end({offset, const_cast<uint8_t *>(from), bytes, true}); // only read
}

} // namespace accum::runtime
