// SPDX-License-Identifier: Apache-2.0
// Where a program runs: the memory that it works in, its kernels and library calls, and the way between that
// memory and the process's own. A session knows devices only through this interface.
#ifndef ACCUM_RUNTIME_DEVICE_DEVICE_H
#define ACCUM_RUNTIME_DEVICE_DEVICE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/ranks/Collectives.h"
#include <functional>
#include <memory>

namespace accum::runtime {

/// Micro-step k of a phase, which is a position in the manifest's list. With several lengths each has a phase
/// of its own: the first and the last one are those of all of them.
struct MicroStep {
  uint32_t phase, k;
  bool isFirst, isLast;
};

/// Calls take effect in the order in which they are made, as far as a program or this process can see; a
/// device may be late with them until `view`, `squaredNorm` or `synchronize`. Pointers into device memory may
/// only be handed back to the device.
class Device {
public:
  /// Writes the bytes of a range into memory of the process.
  using Fill = std::function<void(uint8_t *)>;
  /// Writes the rows of a micro-step, laid out like the input block, into memory of the process, and says how
  /// many bytes of it from its begin that may be.
  using FillInputs = std::function<uint64_t(MicroStep at, uint8_t *block)>;

  /// Ranges of `write` are at most this long.
  static constexpr uint64_t kPieceBytes = 8 << 20;

  Device() = default;
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// "host", or what the driver calls the card.
  virtual std::string name() const = 0;
  /// Decisions for the user, one line each.
  virtual std::vector<std::string> notices() const { return {}; }

  /// Loads the artifact's kernels and the libraries that they need, those for other ranks too. The artifact
  /// outlives the device.
  virtual Status load(const Artifact &artifact) = 0;
  /// Finds its place among the ranks, which outlive the device; after all of them have loaded.
  virtual Status join(Collectives &ranks) = 0;
  /// Whether `processes` of this machine, this one among them, can have `bytes` each: before any of them
  /// allocates. Slug `out-of-memory` where they share a memory that is too small.
  virtual Status requireRoom(uint64_t bytes, int processes) { return {}; }
  /// The one allocation of a run: `programBytes` of state and scratch, and the input block behind them; all
  /// zero.
  virtual Expected<uint8_t *> allocate(uint64_t programBytes, uint64_t inputBytes) = 0;
  /// All that `allocate` took: the two ranges and what the device itself needs beside them.
  virtual uint64_t arenaBytes() const = 0;
  /// The most memory in use so far, in bytes: of the process on the host, of the card elsewhere.
  virtual uint64_t peakBytes() const = 0;

  /// `fill` writes `bytes` bytes, which become those at `to`. On the host it writes there at once.
  virtual Status write(void *to, uint64_t bytes, const Fill &fill) = 0;
  /// The bytes at `from`, readable by this process until the next `view`; on the host `from` itself.
  virtual Expected<const uint8_t *> view(const void *from, uint64_t bytes) = 0;
  /// Where kernels find the bytes at `own`, memory of the process: `own` on the host, elsewhere a copy as of
  /// this call, at one address for the whole run. Few and small.
  virtual Expected<const void *> mirror(const void *own, uint64_t bytes) = 0;

  /// A step begins, or an evaluation: its rows are others than those of the one before.
  virtual void startStep(bool evaluates) {}
  /// The inputs of a micro-step, into the input block; what follows belongs to that micro-step.
  virtual Status feed(MicroStep at, const FillInputs &fill) = 0;
  /// The micro-step has no more calls. `next` is the one that is fed after it in this step, where there is
  /// one.
  virtual Status endMicro(std::optional<MicroStep> next) { return {}; }
  /// Names of the artifact's kernels, by number; after `load`.
  virtual std::vector<std::string> kernelNames() const { return {}; }
  /// Whether a call has happened when it returns, so that its time is that of its work.
  virtual bool isSynchronous() const { return false; }
  /// Kernel number `kernel` over all its work.
  virtual Status launch(uint32_t kernel, void *const *args) = 0;
  virtual Status gemm(const accum_gemm &call, float beta) = 0;
  /// Programs for GPUs have products and kernels instead: by default refused as our own bug.
  virtual Status attention(const accum_attention &call);
  virtual Status zero(void *to, uint64_t bytes) = 0;
  /// Between ranges of device memory that do not overlap.
  virtual Status copy(void *to, const void *from, uint64_t bytes) = 0;
  /// In place, over all ranks.
  virtual Status allReduce(void *data, uint64_t n, DType dtype) = 0;
  /// In the last micro-step: nothing is added any more to these gradients, and their sum over all ranks may
  /// begin. Later an `allReduce` covers them, and does what is left.
  virtual Status startAllReduce(void *data, uint64_t n, DType dtype) { return {}; }
  /// `data`: a part of n elements for each rank; the own one becomes the sum of all ranks'.
  virtual Status reduceScatter(void *data, uint64_t n, DType dtype) = 0;
  /// `to`: a part of so many bytes for each rank, all of which come there; `from`: the own one.
  virtual Status allGather(void *to, const void *from, uint64_t bytes) = 0;
  /// May begin what the same call without `start` ends; until then nobody reads or writes what it moves.
  virtual Status startReduceScatter(void *data, uint64_t n, DType dtype) { return {}; }
  virtual Status startAllGather(void *to, const void *from, uint64_t bytes) { return {}; }
  /// Memory beside the arena for state that is offloaded, all zero: of the host, or on the host a file in
  /// `folder`. Slugs `out-of-memory`, `file-unwritable`.
  virtual Status reserveOffloaded(uint64_t bytes, const std::string &folder) = 0;
  /// Where that is, for people: "in memory of the host".
  virtual std::string offloadedTo(const std::string &folder) const = 0;
  /// From an offset there into device memory, and back.
  virtual Status fetch(void *to, uint64_t offset, uint64_t bytes) = 0;
  virtual Status store(uint64_t offset, const void *from, uint64_t bytes) = 0;
  /// May begin what the same call without `start` ends.
  virtual Status startFetch(void *to, uint64_t offset, uint64_t bytes) { return {}; }
  virtual Status startStore(uint64_t offset, const void *from, uint64_t bytes) { return {}; }
  /// As `write` and `view`, of offloaded memory.
  virtual Status writeOffloaded(uint64_t offset, uint64_t bytes, const Fill &fill) = 0;
  virtual Expected<const uint8_t *> viewOffloaded(uint64_t offset, uint64_t bytes) = 0;
  /// The sum of squares in double; its bits depend on the values alone. f32 and f64.
  virtual Expected<double> squaredNorm(const void *data, uint64_t n, DType dtype) = 0;
  /// Waits until everything has happened.
  virtual Status synchronize() { return {}; }
};

} // namespace accum::runtime
#endif
