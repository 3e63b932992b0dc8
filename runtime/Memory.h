// SPDX-License-Identifier: Apache-2.0
// What the system says about memory, and how sizes are printed.
#ifndef ACCUM_RUNTIME_MEMORY_H
#define ACCUM_RUNTIME_MEMORY_H

#include <cstdint>
#include <string>

namespace accum::runtime {

/// Memory that can be allocated without swapping: the machine's, or less where a control group limits it.
uint64_t availableMemory();

/// The process's largest resident set so far, as the kernel counts it.
uint64_t peakResident();

/// "52.64 GiB", "13.2 MiB", "900 B".
std::string formatBytes(uint64_t bytes);

} // namespace accum::runtime
#endif
