// SPDX-License-Identifier: Apache-2.0
// Which bytes of the simulated device's memory anybody has written.
#ifndef ACCUM_RUNTIME_SIM_SIMMEMORY_H
#define ACCUM_RUNTIME_SIM_SIMMEMORY_H

#include <cstdint>
#include <vector>

namespace accum::runtime::sim {

/// One byte per byte of the range it covers. Bytes outside are the host's and count as written.
class SimMemory {
public:
  /// Covers [base, base + bytes), all of it written.
  void cover(const void *base, uint64_t bytes);

  void wrote(const void *address, uint64_t bytes) { mark(address, bytes, 1); }
  void forget(const void *address, uint64_t bytes) { mark(address, bytes, 0); }
  bool isWritten(const void *address, uint64_t bytes) const {
    return firstUnwritten(address, bytes) == bytes;
  }
  /// Bytes before the first that nobody wrote; `bytes` where there is none.
  uint64_t firstUnwritten(const void *address, uint64_t bytes) const;
  /// `target` holds what `source` does.
  void copied(const void *target, const void *source, uint64_t bytes);

private:
  void mark(const void *address, uint64_t bytes, uint8_t value);
  /// Where the part of [address, address + bytes) that is covered begins and ends in `shadow`.
  std::pair<uint64_t, uint64_t> covered(const void *address, uint64_t bytes) const;

  uint64_t first = 0; ///< address
  std::vector<uint8_t> shadow;
};

} // namespace accum::runtime::sim
#endif
