// SPDX-License-Identifier: Apache-2.0
// Seconds on a clock that only moves forward.
#ifndef ACCUM_RUNTIME_SYSTEM_CLOCK_H
#define ACCUM_RUNTIME_SYSTEM_CLOCK_H

#include <chrono>

namespace accum::runtime {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace accum::runtime
#endif
