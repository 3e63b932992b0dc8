// SPDX-License-Identifier: Apache-2.0
// A block's shared memory, and who touched which byte of it since the last barrier.
#ifndef ACCUM_RUNTIME_SIM_SHAREDMEMORY_H
#define ACCUM_RUNTIME_SIM_SHAREDMEMORY_H

#include <cstdint>
#include <vector>

namespace accum::runtime::sim {

class SharedMemory {
public:
  enum class Finding { None, Outside, Unwritten, Race, Pending };

  /// Fresh memory for a block.
  void reset(uint32_t bytes);
  uint8_t *data() { return bytes.data(); }
  bool holds(const void *address) const {
    return reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(bytes.data()) < bytes.size();
  }
  void barrier() { ++epoch; }

  Finding read(const void *address, uint64_t size, uint32_t thread);
  Finding write(const void *address, uint64_t size, uint32_t thread);
  /// A write that lands some time before `land`; until then nobody may read there, or write.
  Finding expect(const void *address, uint64_t size, uint32_t thread);
  void land(const void *address, uint64_t size, uint32_t thread);
  /// The thread that a race was with.
  uint32_t other() const { return rival; }

private:
  static constexpr uint32_t kMany = UINT32_MAX;
  /// Epochs count from 1; 0: never.
  struct Touch {
    uint32_t writeEpoch = 0, writer = 0, readEpoch = 0, reader = 0;
    bool pending = false;
  };
  bool inside(const void *address, uint64_t size, uint64_t &at) const;

  std::vector<uint8_t> bytes;
  std::vector<Touch> touches;
  uint32_t epoch = 1, rival = 0;
};

} // namespace accum::runtime::sim
#endif
