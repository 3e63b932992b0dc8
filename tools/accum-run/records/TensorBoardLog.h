// SPDX-License-Identifier: Apache-2.0
// --tensorboard: the numbers of each step and evaluation as curves.
#ifndef ACCUM_RUN_RECORDS_TENSORBOARDLOG_H
#define ACCUM_RUN_RECORDS_TENSORBOARDLOG_H

#include "tools/accum-run/records/EventFile.h"
#include "tools/accum-run/records/RunRecorder.h"

namespace accum::run {

/// A full disk ends it, with a note, and not the training; the exit code tells of it.
class TensorBoardLog : public RunRecorder {
public:
  explicit TensorBoardLog(std::unique_ptr<EventFile> file) : file(std::move(file)) {}

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void outputs(const Outputs &found) override { latest = found; }
  void evaluation(const Evaluation &found) override;
  int finish() override { return failed; }

private:
  void write(uint64_t step, const std::vector<Scalar> &scalars);

  std::unique_ptr<EventFile> file;
  Outputs latest;
  int failed = 0;
};

} // namespace accum::run
#endif
