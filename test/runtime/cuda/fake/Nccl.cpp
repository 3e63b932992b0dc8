// SPDX-License-Identifier: Apache-2.0
// NCCL between processes of one machine, through a file in shared memory: every rank puts its piece there,
// all wait for all, and each adds them up in the order of the ranks.
#include "runtime/cuda/NcclApi.h"
#include "test/runtime/cuda/fake/Machine.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace accum::runtime::cuda;
using accum::fake::Machine;

namespace {

constexpr int kMaxRanks = 8;
constexpr size_t kPiece = 64 << 10;

struct Shared {
  std::atomic<int> arrived[3]; ///< joined; wrote a piece; has read it: counts that only grow
  alignas(64) uint8_t pieces[kMaxRanks][kPiece];
};

struct Ring {
  Shared *shared = nullptr;
  int rank = 0, ranks = 1;
  int rounds = 0;      ///< pieces begun so far
  bool isBusy = false; ///< one is begun and not ended

  bool haveArrived(int which, int goal) const { return shared->arrived[which].load() >= goal * ranks; }
};

template <typename T> void addUp(const Ring &ring, void *to, size_t count) {
  T *out = static_cast<T *>(to);
  for (size_t i = 0; i < count; ++i) {
    T sum = 0;
    for (int rank = 0; rank < ring.ranks; ++rank)
      sum += reinterpret_cast<const T *>(ring.shared->pieces[rank])[i];
    out[i] = sum;
  }
}

size_t sizeOf(int type) { return type == kNcclInt64 || type == kNcclFloat64 ? 8 : 4; }

void addUp(const Ring &ring, void *to, size_t count, int type) {
  if (type == kNcclInt32)
    addUp<int32_t>(ring, to, count);
  else if (type == kNcclInt64)
    addUp<int64_t>(ring, to, count);
  else if (type == kNcclFloat32)
    addUp<float>(ring, to, count);
  else
    addUp<double>(ring, to, count);
}

/// Write, wait for all, add up, wait for all.
Result enqueuePiece(Ring *ring, const uint8_t *from, uint8_t *to, size_t count, int type, Stream stream,
                    const char *call) {
  auto write = [=]() -> Result {
    if (ring->isBusy) // two streams that nothing orders: a deadlock on a card
      return kLaunchFailed;
    ring->isBusy = true;
    ++ring->rounds;
    std::memcpy(ring->shared->pieces[ring->rank], from, count * sizeOf(type));
    ring->shared->arrived[1].fetch_add(1);
    return 0;
  };
  auto sum = [=] {
    if (to) // else the sum is another rank's
      addUp(*ring, to, count, type);
    ring->shared->arrived[2].fetch_add(1);
    return 0;
  };
  auto end = [=] {
    ring->isBusy = false;
    return 0;
  };
  auto *place = reinterpret_cast<accum::fake::Stream *>(stream);
  Machine &machine = Machine::get();
  auto arrived = [=](int which) { return [=] { return ring->haveArrived(which, ring->rounds); }; };
  if (place->capture)
    (void)machine.enter((std::string(call) + " in a graph").c_str());
  Result code = machine.enqueue(place, {.run = write, .isSum = true});
  code = code ? code : machine.enqueue(place, {.run = sum, .ready = arrived(1)});
  return code ? code : machine.enqueue(place, {.run = end, .ready = arrived(2)});
}

constexpr const char *kName = "fake-nccl-"; ///< and the first rank's process

/// Ranks that die before all have met leave their memory's name behind: the next communicator removes it.
void removeLeftovers() {
  std::error_code none;
  for (const auto &entry : std::filesystem::directory_iterator("/dev/shm", none)) {
    std::string name = entry.path().filename();
    if (name.starts_with(kName) && kill(std::atoi(name.c_str() + std::strlen(kName)), 0) != 0 &&
        errno == ESRCH)
      shm_unlink(("/" + name).c_str());
  }
}

/// The communicator whose ranks this process waits for: its name goes when the process ends in an orderly
/// way.
struct Waiting {
  UniqueId id{};
  ~Waiting() {
    if (id.bytes[0])
      shm_unlink(id.bytes);
  }
} waiting;

Ring *own(Communicator communicator) { return reinterpret_cast<Ring *>(communicator); }

} // namespace

extern "C" {

Result ncclGetVersion(int *version) {
  *version = 22803;
  return Machine::get().enter(__func__);
}

Result ncclGetUniqueId(UniqueId *id) {
  removeLeftovers();
  std::snprintf(id->bytes, sizeof id->bytes, "/%s%d", kName, int(getpid()));
  return Machine::get().enter(__func__);
}

Result ncclCommInitRank(Communicator *communicator, int ranks, UniqueId id, int rank) {
  if (Result code = Machine::get().enter(__func__))
    return code;
  if (!Machine::hasContext)
    return 1; // ncclUnhandledCudaError
  int file = shm_open(id.bytes, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0 || ranks > kMaxRanks)
    return 2; // ncclSystemError
  waiting.id = id;
  auto *ring = new Ring;
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  ring->shared = static_cast<Shared *>(memory);
  ring->rank = rank;
  ring->ranks = ranks;
  *communicator = reinterpret_cast<Communicator>(ring);
  ring->shared->arrived[0].fetch_add(1);
  ++Machine::get().communicators;
  for (auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(Machine::kPatience);
       !ring->haveArrived(0, 1);) {
    if (std::chrono::steady_clock::now() > limit) {
      shm_unlink(id.bytes);
      Machine::giveUp(99, "hung: a rank does not come to ncclCommInitRank");
    }
    usleep(100);
  }
  shm_unlink(id.bytes); // all have it
  waiting.id = {};
  return 0;
}

Result ncclCommDestroy(Communicator communicator) {
  if (Machine::get().graphsWithSums)
    Machine::giveUp(99, "hung: NCCL waits for graphs that hold its sums");
  --Machine::get().communicators;
  munmap(own(communicator)->shared, sizeof(Shared));
  delete own(communicator);
  return Machine::get().enter(__func__);
}

Result ncclCommAbort(Communicator communicator) { return ncclCommDestroy(communicator); }

Result ncclCommGetAsyncError(Communicator, Result *error) {
  *error = Machine::get().enter("asynchronous");
  return 0;
}

const char *ncclGetErrorString(Result code) { return code == 6 ? "remote error" : "unhandled error"; }
const char *ncclGetLastError(Communicator) { return "fake"; }

Result ncclAllReduce(const void *from, void *to, size_t count, int type, int operation,
                     Communicator communicator, Stream stream) {
  if (Result code = Machine::get().enter(__func__))
    return code;
  if (!Machine::hasContext)
    return 1;
  uint64_t bytes = count * sizeOf(type);
  if (operation != kNcclSum || !Machine::get().isDevice(uint64_t(from), bytes) ||
      !Machine::get().isDevice(uint64_t(to), bytes))
    return 4; // ncclInvalidArgument
  size_t step = kPiece / sizeOf(type);
  for (size_t first = 0; first < count; first += step) {
    size_t at = first * sizeOf(type);
    if (Result code = enqueuePiece(own(communicator), static_cast<const uint8_t *>(from) + at,
                                   static_cast<uint8_t *>(to) + at, std::min(step, count - first), type,
                                   stream, __func__))
      return code;
  }
  return 0;
}

/// A sum for each rank, which that rank keeps.
Result ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation,
                         Communicator communicator, Stream stream) {
  if (Result code = Machine::get().enter(__func__))
    return code;
  Ring *ring = own(communicator);
  size_t bytes = count * sizeOf(type), step = kPiece / sizeOf(type);
  const auto *parts = static_cast<const uint8_t *>(from);
  if (!Machine::hasContext || operation != kNcclSum ||
      !Machine::get().isDevice(uint64_t(from), bytes * size_t(ring->ranks)) ||
      to != parts + size_t(ring->rank) * bytes) // in place, as it is used here
    return 4;
  for (size_t first = 0; first < count; first += step)
    for (int rank = 0; rank < ring->ranks; ++rank) {
      const uint8_t *piece = parts + size_t(rank) * bytes + first * sizeOf(type);
      auto *sum = rank == ring->rank ? static_cast<uint8_t *>(to) + first * sizeOf(type) : nullptr;
      if (Result code = enqueuePiece(ring, piece, sum, std::min(step, count - first), type, stream, __func__))
        return code;
    }
  return 0;
}

/// A sum of one rank's bytes and the zeros of all others, for each rank.
Result ncclAllGather(const void *from, void *to, size_t count, int type, Communicator communicator,
                     Stream stream) {
  static const uint8_t zeros[kPiece] = {};
  if (Result code = Machine::get().enter(__func__))
    return code;
  Ring *ring = own(communicator);
  if (!Machine::hasContext || type != kNcclInt8 || count % 4 != 0 ||
      !Machine::get().isDevice(uint64_t(from), count) ||
      !Machine::get().isDevice(uint64_t(to), count * size_t(ring->ranks)))
    return 4;
  for (size_t first = 0; first < count; first += kPiece)
    for (int rank = 0; rank < ring->ranks; ++rank) {
      const uint8_t *piece = rank == ring->rank ? static_cast<const uint8_t *>(from) + first : zeros;
      auto *target = static_cast<uint8_t *>(to) + size_t(rank) * count + first;
      if (Result code = enqueuePiece(ring, piece, target, std::min(kPiece, count - first) / 4, kNcclInt32,
                                     stream, __func__))
        return code;
    }
  return 0;
}

} // extern "C"
