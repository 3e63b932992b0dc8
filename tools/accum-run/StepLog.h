// SPDX-License-Identifier: Apache-2.0
// --log: one JSON object per optimizer step, one per line.
#ifndef ACCUM_RUN_STEPLOG_H
#define ACCUM_RUN_STEPLOG_H

#include "runtime/accum_runtime.h"
#include "runtime/system/Status.h"
#include <cstdio>

namespace accum::run {

class StepLog {
public:
  /// An empty path logs nothing; "-" is stdout. An existing file keeps its lines up to step `from`: those of
  /// the run that goes on.
  static runtime::Expected<StepLog> open(const std::string &path, uint64_t from);
  StepLog(StepLog &&other) noexcept;
  StepLog &operator=(StepLog &&) = delete;
  ~StepLog();

  /// `step` counts from 1. A full disk ends the log, with a note, and not the training.
  void write(uint64_t step, const accum_info &info, const accum_step_result &result);

private:
  explicit StepLog(std::FILE *file) : file(file) {}
  std::FILE *file;
};

} // namespace accum::run
#endif
