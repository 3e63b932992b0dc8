// SPDX-License-Identifier: Apache-2.0
// How much memory this machine can give to a run.
#pragma once

#include <cstdint>

namespace accum::driver {

/// Bytes that are available now: the kernel's estimate (/proc/meminfo, MemAvailable), or what is left under
/// the process's control group where that is less. 0 where neither can be read.
int64_t availableHostMemory();

} // namespace accum::driver
