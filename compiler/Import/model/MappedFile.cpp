// SPDX-License-Identifier: Apache-2.0
// open, fstat, mmap.
#include "compiler/Import/model/MappedFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace accum::import {
namespace {
/// Closes on every way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
};

Failure unreadable(const std::filesystem::path &path, std::string why) {
  return {"malformed-model", path.string(), std::move(why), {}};
}
} // namespace

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : location(std::move(path)), content(bytes) {}

MappedFile::~MappedFile() {
  if (!content.empty())
    ::munmap(const_cast<std::byte *>(content.data()), content.size());
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path &path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0 && (errno == ENOENT || errno == ENOTDIR))
    return Failure{"missing-file", path.string(), "no such file", {}};
  if (file.number < 0)
    return unreadable(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  if (::fstat(file.number, &status) != 0)
    return unreadable(path, std::string("cannot be examined: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode))
    return unreadable(path, "is a directory, expected a file");
  if (!S_ISREG(status.st_mode))
    return unreadable(path, "is not a regular file");
  size_t size = static_cast<size_t>(status.st_size);
  std::span<const std::byte> bytes;
  if (size > 0) {
    void *start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (start == MAP_FAILED)
      return unreadable(path, std::string("cannot be mapped: ") + std::strerror(errno));
    bytes = {static_cast<const std::byte *>(start), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

} // namespace accum::import
