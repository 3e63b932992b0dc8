// SPDX-License-Identifier: Apache-2.0
// The one allocation of a run: state, scratch and the input staging behind them, made before step 1.
#ifndef ACCUM_RUNTIME_HOST_ARENA_H
#define ACCUM_RUNTIME_HOST_ARENA_H

#include "runtime/system/Status.h"
#include <cstdint>
#include <memory>

namespace accum::runtime {

class Arena {
public:
  Arena();
  ~Arena();
  Arena(Arena &&other) noexcept;
  Arena &operator=(Arena &&other) noexcept;

  /// Zeroed, in huge pages where the system grants them. Refuses with the size when there is no room. The
  /// system clears a page when it gives it, which takes longer than anything else of a start: a thread asks
  /// for them meanwhile, while weights are read.
  static Expected<Arena> allocate(uint64_t bytes);
  /// Every page is present when it returns; the pool helps the thread.
  void settle();
  uint8_t *data() const;
  uint64_t size() const;

private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping;
};

} // namespace accum::runtime
#endif
