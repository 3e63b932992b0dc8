// SPDX-License-Identifier: Apache-2.0
// --log: one JSON object per optimizer step or evaluation, one per line.
#ifndef ACCUM_RUN_RECORDS_STEPLOG_H
#define ACCUM_RUN_RECORDS_STEPLOG_H

#include "tools/accum-run/records/RecordFile.h"
#include "tools/accum-run/records/RunRecorder.h"
#include <functional>

namespace accum::run {

/// A line of a log: an evaluation, or a step, of which `info` and `result` have what the line has.
struct LogLine {
  std::string text;
  uint64_t step = 0;
  std::optional<Evaluation> evaluation = {};
  accum_info info{};
  accum_step_result result{};
};

/// The whole lines of a log up to a step; none where there is no log.
void readLog(const std::string &path, uint64_t upTo, const std::function<void(const LogLine &)> &take);

/// A full disk ends the log, with a note, and not the training; the exit code tells of it.
class StepLog : public RunRecorder {
public:
  /// "-" is stdout. An existing file keeps its lines up to step `from`: those of the run that goes on.
  static runtime::Expected<std::unique_ptr<StepLog>> open(const std::string &path, uint64_t from);
  explicit StepLog(std::unique_ptr<RecordFile> file) : file(std::move(file)) {}

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void outputs(const Outputs &found) override { latest = found; }
  void evaluation(const Evaluation &found) override;
  int finish() override { return failed; }

private:
  void write(uint64_t step, const std::string &line);

  std::unique_ptr<RecordFile> file;
  Outputs latest;
  int failed = 0;
};

} // namespace accum::run
#endif
