// SPDX-License-Identifier: Apache-2.0
// --log: one JSON object per optimizer step, one per line.
#ifndef ACCUM_RUN_STEPLOG_H
#define ACCUM_RUN_STEPLOG_H

#include "runtime/Status.h"
#include "runtime/accum_runtime.h"
#include <cstdio>

namespace accum::run {

class StepLog {
public:
  /// An empty path logs nothing; "-" is stdout. An existing file is replaced. arenaBytes: what was allocated
  /// before the first step, said in every line.
  static runtime::Expected<StepLog> open(const std::string &path, uint64_t arenaBytes);
  StepLog(StepLog &&other) noexcept;
  StepLog &operator=(StepLog &&) = delete;
  ~StepLog();

  /// `step` counts from 1.
  void write(uint64_t step, double lr, const accum_step_result &result);

private:
  StepLog(std::FILE *file, uint64_t arenaBytes) : file(file), arenaBytes(arenaBytes) {}
  std::FILE *file;
  uint64_t arenaBytes;
};

} // namespace accum::run
#endif
