// SPDX-License-Identifier: Apache-2.0
// Offloaded state in pinned memory of the host, copied on a stream for each direction.
#ifndef ACCUM_RUNTIME_CUDA_HOSTSTATE_H
#define ACCUM_RUNTIME_CUDA_HOSTSTATE_H

#include "runtime/cuda/GraphReplay.h"
#include <array>
#include <set>

namespace accum::runtime::cuda {

class HostState {
public:
  /// Words of a call of CallKind.h: the kind, 3, an address on the card, an offset, bytes.
  using Call = std::array<uint64_t, 5>;

  /// Both outlive it.
  HostState(ComputeStream &compute, GraphReplay &replay) : compute(compute), replay(replay) {}
  ~HostState();
  HostState(const HostState &) = delete;
  HostState &operator=(const HostState &) = delete;

  /// Zeros. Slug `out-of-memory` where the host does not pin that much.
  Status reserve(uint64_t bytes);
  uint8_t *data() const { return memory; }

  /// A step begins, and the one before may have been left in the middle.
  void startStep();
  /// Calls kStartFetchCall and kStartStoreCall: after what is on the compute stream, and beside what follows
  /// there.
  Status start(const Call &call);
  /// What follows on the compute stream comes after this one, which is started where it was not.
  Status end(const Call &call);
  /// The same of all that were started.
  Status finish();
  /// What the replay runs or captures.
  Status run(const uint64_t *call);

private:
  struct Direction {
    Stream stream = nullptr;
    Event before = nullptr, after = nullptr;
    std::set<Call> begun; ///< that nobody has waited for
    bool runs = false;    ///< beside the compute stream, as far as calls were made
  };
  Direction &directionOf(uint64_t kind);
  Status create(Direction &direction);
  Status finish(Direction &direction);
  Status join(Direction &direction);

  ComputeStream &compute;
  GraphReplay &replay;
  uint8_t *memory = nullptr;
  Direction in, out;
};

} // namespace accum::runtime::cuda
#endif
