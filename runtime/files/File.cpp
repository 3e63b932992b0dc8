// SPDX-License-Identifier: Apache-2.0
// POSIX calls behind File.h.
#include "runtime/files/File.h"
#include "runtime/system/Hash.h"
#include "runtime/system/ProgressCounter.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace accum::runtime {
namespace {

Error unreadable(const std::string &path, const std::string &why) {
  return {kExitFile, path + ": cannot be read: " + why, "unreadable"};
}

Error unopened(const std::string &path, int code) {
  Error error = unreadable(path, std::strerror(code));
  if (code == EMFILE)
    error.notes = {"`ulimit -n` says how many files a process may have open: raise it (ulimit -Hn, or the "
                   "administrator's limits.conf), or put the data into fewer files"};
  return error;
}

/// Open descriptor and size of a regular file.
struct Opened {
  int descriptor;
  uint64_t bytes;
};

Expected<Opened> openRegular(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return unopened(path, errno);
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    return unreadable(path, S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file");
  }
  return Opened{descriptor, uint64_t(info.st_size)};
}

/// Makes the rename itself survive a power cut; best effort.
void syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  fsync(descriptor);
  close(descriptor);
}

} // namespace

MappedFile::MappedFile(std::string path, const uint8_t *base, uint64_t bytes, int descriptor)
    : name(std::move(path)), base(base), bytes(bytes), descriptor(descriptor) {}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<uint8_t *>(base), bytes);
  close(descriptor);
}

void MappedFile::release() const {
  if (bytes)
    madvise(const_cast<uint8_t *>(base), bytes, MADV_DONTNEED);
}

void MappedFile::release(const uint8_t *from, uint64_t count) const {
  constexpr uint64_t kPage = 4096;
  auto offset = uint64_t(from - base); // the mapping starts on a page
  uint64_t first = (offset + kPage - 1) / kPage * kPage, end = (offset + count) / kPage * kPage;
  if (first < end)
    madvise(const_cast<uint8_t *>(base) + first, end - first, MADV_DONTNEED);
}

Expected<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  auto file = openRegular(path);
  if (!file)
    return file.error();
  void *base = nullptr;
  if (file->bytes)
    base = mmap(nullptr, file->bytes, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
  int code = errno;
  if (base == MAP_FAILED) {
    close(file->descriptor);
    return unreadable(path, std::strerror(code));
  }
  return std::shared_ptr<MappedFile>(
      new MappedFile(path, static_cast<const uint8_t *>(base), file->bytes, file->descriptor));
}

Status MappedFile::read(const uint8_t *from, uint64_t count, uint8_t *to) const {
  for (uint64_t done = 0; done < count;) {
    ssize_t got = pread(descriptor, to + done, count - done, off_t(from - base) + off_t(done));
    if (got == 0)
      return unreadable(name, "it has become shorter");
    if (got < 0 && errno != EINTR)
      return unreadable(name, std::strerror(errno));
    done += uint64_t(std::max<ssize_t>(got, 0));
  }
  return {};
}

Error notWhole(const std::string &kind, const std::string &path, const std::string &what) {
  return {kExitFile, path + ": is not a whole " + kind + ": " + what, "malformed"};
}

Expected<std::string> readText(const std::string &path, uint64_t limit) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.error();
  if ((*file)->size() > limit)
    return unreadable(path, "is larger than any such file can be");
  return std::string(reinterpret_cast<const char *>((*file)->data()), (*file)->size());
}

Expected<std::string> hashFile(const std::string &path) {
  auto whole = hashFile(path, {});
  return whole ? Expected<std::string>(whole->front()) : whole.error();
}

Expected<std::vector<std::string>> hashFile(const std::string &path, const std::vector<uint64_t> &parts) {
  auto file = openRegular(path);
  if (!file)
    return file.error();
  std::vector<std::string> digits;
  std::vector<uint8_t> buffer(1 << 20);
  RunningHash hash;
  uint64_t left = parts.empty() ? UINT64_MAX : parts[0]; ///< of the current part
  ssize_t got;
  while ((got = read(file->descriptor, buffer.data(), std::min<uint64_t>(left, buffer.size()))) > 0) {
    hash.add(buffer.data(), uint64_t(got));
    countProgress();
    left -= uint64_t(got);
    if (left > 0)
      continue;
    digits.push_back(hash.digits());
    hash = RunningHash();
    left = digits.size() < parts.size() ? parts[digits.size()] : UINT64_MAX;
  }
  int code = errno;
  close(file->descriptor);
  if (got < 0)
    return unreadable(path, std::strerror(code));
  if (left != UINT64_MAX || parts.empty())
    digits.push_back(hash.digits());
  return digits;
}

FileWriter::FileWriter(std::string path, std::string temporary, int descriptor)
    : path(std::move(path)), temporary(std::move(temporary)), descriptor(descriptor) {}

FileWriter::~FileWriter() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

Error FileWriter::failure(const std::string &action) const {
  std::string why = std::strerror(errno);
  return {kExitFile,
          path + ": cannot be " + action + ": " + why,
          "unwritable",
          {"nothing was changed at that path"}};
}

Expected<std::unique_ptr<FileWriter>> FileWriter::create(const std::string &path) {
  struct stat present;
  bool isTaken = stat(path.c_str(), &present) == 0 && !S_ISREG(present.st_mode);
  if (isTaken || path.ends_with('/'))
    return Error{kExitFile,
                 path + ": cannot be written: " +
                     (isTaken && !S_ISDIR(present.st_mode) ? "it is no regular file" : "it is a folder"),
                 "unwritable",
                 {"nothing was changed at that path"}};
  std::string temporary = path + ".tmp." + std::to_string(getpid());
  int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  std::unique_ptr<FileWriter> writer(new FileWriter(path, temporary, descriptor));
  if (descriptor < 0)
    return writer->failure("written");
  return writer;
}

Status FileWriter::write(const void *data, uint64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes) {
    ssize_t put = ::write(descriptor, next, bytes);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("written");
    countProgress();
    next += put;
    bytes -= put;
    written += put;
  }
  startWriteback();
  return {};
}

/// The system would begin to write at the end, when it is asked to sync, and the disk would have waited till
/// then. What cannot be begun is written then.
void FileWriter::startWriteback() {
  if (written - onItsWay < kWriteback)
    return;
  sync_file_range(descriptor, off_t(onItsWay), off_t(written - onItsWay), SYNC_FILE_RANGE_WRITE);
  onItsWay = written;
}

/// What is at `path` is at `path`.1 too, so that there is a whole file at `path` whenever one looks; on file
/// systems without links it moves there.
static bool keepAside(const std::string &path, const std::string &temporary) {
  std::string kept = path + ".1", second = temporary + ".1";
  if (link(path.c_str(), second.c_str()) != 0)
    return rename(path.c_str(), kept.c_str()) == 0;
  bool done = rename(second.c_str(), kept.c_str()) == 0;
  int code = errno;
  unlink(second.c_str()); // still there where both names are one file's already
  errno = code;
  return done;
}

Status FileWriter::commit(bool keepOld) {
  if (fsync(descriptor) != 0)
    return failure("written");
  if (keepOld && access(path.c_str(), F_OK) == 0 && !keepAside(path, temporary))
    return failure("kept as .1");
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return failure("replaced");
  close(descriptor);
  descriptor = -1;
  syncFolderOf(path);
  return {};
}

} // namespace accum::runtime
