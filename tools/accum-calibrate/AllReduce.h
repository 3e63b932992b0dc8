// SPDX-License-Identifier: Apache-2.0
// The sum over two processes, as programs on several devices make it.
#pragma once
#include "tools/accum-calibrate/Results.h"
#include <optional>

namespace accum::calibrate {

/// Seconds of a sum of few and of many bytes over `ranks` processes.
struct AllReduceTimes {
  int64_t fewBytes = 4096, manyBytes = 64 << 20;
  Sample few = {}, many = {};
};

/// Starts two processes with mpirun; nothing where there is no mpirun or it fails.
std::optional<AllReduceTimes> timeAllReduce(Results &results);

/// What such a process does: prints its times, `--all-reduce`.
int runAllReduce();

} // namespace accum::calibrate
