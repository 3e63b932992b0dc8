// SPDX-License-Identifier: Apache-2.0
// --log: one JSON object per optimizer step or evaluation, one per line.
#ifndef ACCUM_RUN_STEPLOG_H
#define ACCUM_RUN_STEPLOG_H

#include "tools/accum-run/RunRecorder.h"
#include <cstdio>
#include <string>

namespace accum::run {

/// A full disk ends the log, with a note, and not the training.
class StepLog : public RunRecorder {
public:
  /// "-" is stdout. An existing file keeps its lines up to step `from`: those of the run that goes on.
  static runtime::Expected<std::unique_ptr<StepLog>> open(const std::string &path, uint64_t from);
  explicit StepLog(std::FILE *file) : file(file) {}
  StepLog(const StepLog &) = delete;
  StepLog &operator=(const StepLog &) = delete;
  ~StepLog() override;

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void evaluation(const Evaluation &found) override;

private:
  void write(uint64_t step, const std::string &line);

  std::FILE *file;
};

} // namespace accum::run
#endif
