// SPDX-License-Identifier: Apache-2.0
// mmap, huge-page advice, and pages that are made present while the run starts.
#include "runtime/host/Arena.h"
#include "base/FormatBytes.h"
#include "runtime/system/Memory.h"
#include "runtime/system/QuietThread.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <atomic>
#include <sys/mman.h>
#include <utility>

namespace accum::runtime {
namespace {

constexpr uint64_t kPage = 4096, kPiece = 16 << 20;

Error noRoom(uint64_t bytes) {
  return {
      kExitRunFailed,
      "the arena of " + formatBytes(bytes) + " does not fit into memory (" + formatBytes(availableMemory()) +
          " available)",
      "out-of-memory",
      {"compile with --memory " + formatLimit(availableMemory()) + ", or for more devices on more machines"}};
}

/// Leaves what is there as it is: others write meanwhile.
void makePresent(uint8_t *from, uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(from, bytes, MADV_POPULATE_WRITE) == 0)
    return;
#endif
  for (uint64_t at = 0; at < bytes; at += kPage) // before Linux 5.14
    __atomic_fetch_or(from + at, 0, __ATOMIC_RELAXED);
}

} // namespace

/// Pieces are taken in order, by a thread that begins at once and by the pool when the arena is settled.
struct Arena::Mapping {
  uint8_t *base;
  uint64_t bytes;
  std::atomic<uint64_t> next{0};
  std::thread ahead;
  bool isSettled = false;

  uint64_t pieces() const { return (bytes + kPiece - 1) / kPiece; }

  void takePieces() {
    for (uint64_t piece; (piece = next.fetch_add(1, std::memory_order_relaxed)) < pieces();)
      makePresent(base + piece * kPiece, std::min(kPiece, bytes - piece * kPiece));
  }

  ~Mapping() {
    next = pieces();
    if (ahead.joinable())
      ahead.join();
    munmap(base, bytes);
  }
};

Arena::Arena() = default;
Arena::~Arena() = default;
Arena::Arena(Arena &&other) noexcept = default;
Arena &Arena::operator=(Arena &&other) noexcept = default;

uint8_t *Arena::data() const { return mapping ? mapping->base : nullptr; }
uint64_t Arena::size() const { return mapping ? mapping->bytes : 0; }

Expected<Arena> Arena::allocate(uint64_t bytes) {
  // Touching more than there is would end in the kernel's out-of-memory killer instead of a sentence.
  if (bytes > availableMemory())
    return noRoom(bytes);
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return noRoom(bytes);
  madvise(base, bytes, MADV_HUGEPAGE);
  Arena arena;
  arena.mapping = std::make_unique<Mapping>();
  arena.mapping->base = static_cast<uint8_t *>(base);
  arena.mapping->bytes = bytes;
  if (arena.mapping->pieces() > 1)
    arena.mapping->ahead = startQuietThread([mapping = arena.mapping.get()] { mapping->takePieces(); });
  return arena;
}

void Arena::settle() {
  if (!mapping || mapping->isSettled)
    return;
  parallelFor(threadCount(), threadCount(), [&](int64_t, int64_t) { mapping->takePieces(); });
  if (mapping->ahead.joinable())
    mapping->ahead.join();
  mapping->isSettled = true;
}

} // namespace accum::runtime
