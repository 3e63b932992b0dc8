// SPDX-License-Identifier: Apache-2.0
// The one allocation of a run: state, scratch and the input staging behind them, made and touched before
// step 1.
#ifndef ACCUM_RUNTIME_SESSION_ARENA_H
#define ACCUM_RUNTIME_SESSION_ARENA_H

#include "runtime/system/Status.h"
#include <cstdint>

namespace accum::runtime {

class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;

  /// Zeroed, every page present, huge pages where the system grants them. Refuses with the size when there is
  /// no room.
  static Expected<Arena> allocate(uint64_t bytes);
  uint8_t *data() const { return base; }
  uint64_t size() const { return bytes; }

private:
  uint8_t *base = nullptr;
  uint64_t bytes = 0;
};

} // namespace accum::runtime
#endif
