// SPDX-License-Identifier: Apache-2.0
// --report: what happened in a run, for the page that is written at its end and now and then before.
#ifndef ACCUM_RUN_RECORDS_RUNREPORT_H
#define ACCUM_RUN_RECORDS_RUNREPORT_H

#include "tools/accum-run/records/RunCurve.h"
#include "tools/accum-run/records/RunRecorder.h"
#include <map>
#include <string>

namespace accum::run {

/// What the page shows.
struct RunStory {
  std::string artifact, plan, command; ///< plan: accum_describe
  uint64_t from = 0, total = 0, steps = 0, skipped = 0, spikes = 0;
  double seconds = 0, stepSeconds = 0, waitSeconds = 0; ///< seconds: by the clock, since the first step
  int64_t samples = 0, targets = 0;
  double firstLoss = 0, lastLoss = 0;
  accum_info info{};
  uint64_t plannedBytes = 0;                      ///< of each process
  double plannedSeconds = 0;                      ///< of a step; 0 where no plan says it
  RunCurve loss, norm, rate, speed, wait, memory; ///< speed: targets or samples a second; wait: a part of 1
  RunCurve skips;                                 ///< 1 for each step that changed nothing
  RunCurve evalLoss, evalAccuracy;
  std::optional<Evaluation> best; ///< of the least loss
};

class RunReport : public RunRecorder {
public:
  /// `from` is the step that a checkpoint was left at, `total` the last one.
  RunReport(const Options &options, const accum_info &info, uint64_t from, uint64_t total);

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void evaluation(const Evaluation &found) override;
  void earlierStep(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void earlierEvaluation(const Evaluation &found) override { evaluation(found); }
  int finish() override;

private:
  void add(uint64_t step, const accum_info &info, const accum_step_result &result);
  runtime::Status write();
  void writeIfDue();

  std::string path;
  RunStory story;
  double started, written;
  bool failed = false;
};

} // namespace accum::run
#endif
