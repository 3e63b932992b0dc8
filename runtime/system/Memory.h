// SPDX-License-Identifier: Apache-2.0
// What the system says about memory.
#ifndef ACCUM_RUNTIME_SYSTEM_MEMORY_H
#define ACCUM_RUNTIME_SYSTEM_MEMORY_H

#include <cstdint>
#include <string>

namespace accum::runtime {

/// Memory that can be allocated without swapping: the machine's, or less where a control group limits it.
/// UINT64_MAX where neither can be read.
uint64_t availableMemory();

/// Bytes until the first limit of the process's control groups (version 1 or 2) or of those around them;
/// UINT64_MAX where there is none. `root` stands before /proc and /sys.
uint64_t leftInControlGroups(const std::string &root = "");

/// The process's largest resident set since this program began in it, as the kernel counts it.
uint64_t peakResident();

} // namespace accum::runtime
#endif
