// SPDX-License-Identifier: Apache-2.0
// mmap, huge-page advice, and a first touch of every page by the threads that will use it.
#include "runtime/session/Arena.h"
#include "runtime/system/Memory.h"
#include "runtime/system/ThreadPool.h"
#include <sys/mman.h>
#include <utility>

namespace accum::runtime {
namespace {

constexpr uint64_t kPage = 4096, kTouch = 2 << 20;

Error noRoom(uint64_t bytes) {
  return {
      kExitRunFailed,
      "the arena of " + formatBytes(bytes) + " does not fit into memory (" + formatBytes(availableMemory()) +
          " available)",
      "out-of-memory",
      {"compile with --memory " + formatBytes(availableMemory()) + ", or for more devices on more machines"}};
}

} // namespace

Arena::~Arena() {
  if (base)
    munmap(base, bytes);
}

Arena::Arena(Arena &&other) noexcept
    : base(std::exchange(other.base, nullptr)), bytes(std::exchange(other.bytes, 0)) {}

Arena &Arena::operator=(Arena &&other) noexcept {
  std::swap(base, other.base);
  std::swap(bytes, other.bytes);
  return *this;
}

Expected<Arena> Arena::allocate(uint64_t bytes) {
  // Touching more than there is would end in the kernel's out-of-memory killer instead of a sentence.
  if (bytes > availableMemory())
    return noRoom(bytes);
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return noRoom(bytes);
  madvise(base, bytes, MADV_HUGEPAGE);
  Arena arena;
  arena.base = static_cast<uint8_t *>(base);
  arena.bytes = bytes;
  parallelFor(int64_t((bytes + kTouch - 1) / kTouch), int64_t((bytes + kTouch - 1) / kTouch),
              [&](int64_t begin, int64_t end) {
                for (uint64_t at = begin * kTouch; at < end * kTouch && at < bytes; at += kPage)
                  static_cast<volatile uint8_t *>(arena.base)[at] = 0;
              });
  return arena;
}

} // namespace accum::runtime
