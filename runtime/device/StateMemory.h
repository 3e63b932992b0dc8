// SPDX-License-Identifier: Apache-2.0
// The state by its offsets in a whole one, wherever its parts are: what loads, saves and shows tensors goes
// through here.
#ifndef ACCUM_RUNTIME_DEVICE_STATEMEMORY_H
#define ACCUM_RUNTIME_DEVICE_STATEMEMORY_H

#include "runtime/device/Device.h"
#include <optional>
#include <vector>

namespace accum::runtime {

class StateMemory {
public:
  /// What is written or viewed at once should be no more: where ranks have parts, a copy is on its way.
  static constexpr uint64_t kPieceBytes = 1 << 20;

  StateMemory() = default;
  /// All of them outlive it; `base`: of this rank's state, in the device's memory.
  StateMemory(const Manifest &manifest, Device &device, Collectives &ranks, uint8_t *base)
      : manifest(&manifest), device(&device), ranks(&ranks), base(base) {}

  /// Where a rank has what lies at `offset`, of what all of them have.
  uint64_t local(uint64_t offset) const;
  /// Of a sharded state: what outlives a step. Behind it lies what comes from other ranks during one.
  uint64_t keptBytes() const;
  bool isSharded() const { return !manifest->shard.isNone(); }
  /// The whole state is on the device, where it is in a whole one.
  bool isPlain() const { return manifest->shard.isPlain(); }

  /// `fill` writes the `bytes` bytes, at most Device::kPieceBytes, that become those at `offset`; a rank
  /// keeps those that it has.
  Status write(uint64_t offset, uint64_t bytes, const Device::Fill &fill);
  /// The bytes at `offset`, until the next call. Where ranks have parts: on rank 0, while the others are in
  /// `assist`; or on all of them.
  Expected<const uint8_t *> view(uint64_t offset, uint64_t bytes);
  /// The same, called by all ranks together.
  Expected<const uint8_t *> viewTogether(uint64_t offset, uint64_t bytes);
  /// On the other ranks: sends rank 0 what it views, until it calls this too. Nothing to do where no rank has
  /// parts.
  Status assist();

  /// A range of the whole state, and the rank that has it; kAll: every rank has it.
  struct Part {
    uint64_t offset, bytes;
    int rank;
  };
  static constexpr int kAll = -1;
  /// What a range consists of, in order.
  std::vector<Part> partsOf(uint64_t offset, uint64_t bytes) const;
  /// What this rank has of a range, as its owner where ranks share it: bytes of it, and where, on the device.
  struct Own {
    uint64_t local, bytes;
  };
  std::vector<Own> own(uint64_t offset, uint64_t bytes) const;
  /// Of a part that this rank has: the bytes at `offset`, at most Device::kPieceBytes, until the next call.
  Expected<const uint8_t *> viewOwn(uint64_t offset, uint64_t bytes);

private:
  struct Piece {
    uint64_t offset, local, bytes;
    bool isOffloaded;
  };
  /// body(piece) for what this rank has of a range, as its owner where ranks share it.
  template <typename Body> Status overOwn(uint64_t offset, uint64_t bytes, bool isOwner, Body &&body) const;
  std::optional<Piece> inOne(uint64_t offset, uint64_t bytes) const;
  Status write(const Piece &piece, const Device::Fill &fill);
  Expected<const uint8_t *> view(const Piece &piece);

  const Manifest *manifest = nullptr;
  Device *device = nullptr;
  Collectives *ranks = nullptr;
  uint8_t *base = nullptr;
  std::vector<uint8_t> filled;   ///< a range on its way into the state
  std::vector<int32_t> gathered; ///< a range that came from several ranks
};

} // namespace accum::runtime
#endif
