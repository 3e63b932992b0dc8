// SPDX-License-Identifier: Apache-2.0
// A card that exists in host memory only, to execute the runtime's GPU path without one. It is lazy and
// contrary: work on a stream happens as late as possible, and between streams in an order that only events
// constrain, drawn from FAKE_CUDA_SEED. Device memory cannot be read or written by the process: a stray
// access is a segmentation fault.
//
//   FAKE_CUDA          "major=8,version=11000,count=0,used=1000,total=2000": what the card is like
//   FAKE_CUDA_FAIL     "cuMemAlloc_v2=2,cuLaunchKernel@3=719,run:residual=700": calls that fail with this
//                      code, from the n-th on; run:NAME is a kernel whose execution fails, which stays so; a
//                      negative code is a signal that the process sends itself instead
//   FAKE_CUDA_KERNELS  a shared object with fake_kernel()
//   FAKE_CUDA_LOG      a file that gets "NAME COUNT" for each function called, when the process ends
//   FAKE_CUDA_KEEP     "FILE:BYTES": a file for the first bytes of the first allocation, when it is freed
//
// Where a card would wait for ever it waits for a minute, and then ends the process with code 99; with 98 at
// what a card may or may not survive.
#ifndef ACCUM_TEST_FAKE_MACHINE_H
#define ACCUM_TEST_FAKE_MACHINE_H

#include "runtime/cuda/DriverApi.h"
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace accum::fake {

using runtime::cuda::Result;

struct Capture;

struct Event {
  uint64_t recorded = 0, happened = 0; ///< times
  Capture *capture = nullptr;          ///< in which it was recorded last
  bool wasCaptured = false;            ///< recorded last in one: outside nobody may wait for it
};

/// One thing on a stream.
struct Operation {
  std::function<Result()> run = {};
  Event *waits = nullptr; ///< until it has happened `times` times
  uint64_t times = 0;
  bool isSum = false; ///< of NCCL
  Event *records = nullptr;
  std::function<bool()> ready = {}; ///< where it waits for another process
};

struct Stream {
  std::deque<Operation> operations;
  Capture *capture = nullptr;
};

/// What was put on a stream while it was captured, and on streams that waited for an event recorded there.
struct Capture {
  struct Entry {
    Stream *stream;
    Operation operation;
  };
  Stream *origin;
  std::vector<Entry> entries = {};
  std::vector<Stream *> others = {};
  bool isInvalid = false; ///< a call was made that may wait

  /// Whether the origin waits for the last thing on each other stream.
  bool isJoined() const;
};

class Machine {
public:
  static Machine &get();

  /// Zero, or the code that this call is to fail with; every entry of the driver starts here.
  Result enter(const char *name);
  long property(const std::string &name, long otherwise) const;

  /// Range checks: within one allocation of the card, or one pinned block.
  bool isDevice(uint64_t at, uint64_t bytes) const { return isWithin(device, at, bytes); }
  bool isPinned(const void *at, uint64_t bytes) const { return isWithin(pinned, uint64_t(at), bytes); }
  Result allocate(uint64_t bytes, uint64_t &at);
  Result release(uint64_t at);
  Result allocatePinned(uint64_t bytes, void *&at);
  Result releasePinned(void *at);
  uint64_t free() const;
  uint64_t total() const;

  Stream *createStream();
  void destroyStream(Stream *stream);
  Result enqueue(Stream *stream, Operation operation);
  /// Zero, or the code of a call that may wait or allocate and that is made within a capture, which it
  /// spoils.
  Result refuseInCapture();
  /// Whether something on a stream waits for the event or records it.
  bool isPending(const Event *event) const;
  /// Executes until the condition holds; false when nothing can be executed any more.
  bool runUntil(const std::function<bool()> &condition);
  /// Executes at most one operation.
  bool runOne();
  /// Ends the process: a card would hang, or do what nobody knows.
  [[noreturn]] static void giveUp(int code, const char *why);
  static constexpr double kPatience = 60; ///< seconds
  /// Whether this thread has a context.
  static thread_local bool hasContext;
  int communicators = 0, graphsWithSums = 0;
  /// The code of a kernel that failed; every later call returns it.
  Result broken = 0;

  /// A kernel of the test's shared object; 500 where it has none of that name.
  Result runKernel(const std::string &name, const unsigned *grid, const unsigned *block, void **parameters);

private:
  Machine();
  ~Machine();
  static bool isWithin(const std::map<uint64_t, uint64_t> &ranges, uint64_t at, uint64_t bytes);
  void protect(int rights);
  void keep(uint64_t at) const;

  std::map<uint64_t, uint64_t> device, pinned; ///< start, bytes
  std::vector<Stream *> streams;
  std::map<std::string, long> properties;
  struct Failure {
    long from, code;
  };
  std::map<std::string, Failure> failures;
  std::map<std::string, long> calls;
  std::mutex counting;
  uint64_t random;
  int (*kernels)(const char *, const unsigned *, const unsigned *, void **) = nullptr;
};

} // namespace accum::fake
#endif
