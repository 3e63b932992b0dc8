// SPDX-License-Identifier: Apache-2.0
// The line that is rewritten in place on a terminal, and the one sentence at the end of a run.
#ifndef ACCUM_RUN_RECORDS_PROGRESSLINE_H
#define ACCUM_RUN_RECORDS_PROGRESSLINE_H

#include "tools/accum-run/records/RunRecorder.h"

namespace accum::run {

/// Where stderr is no terminal, lines that stay, as often as the options say.
class ProgressLine : public RunRecorder {
public:
  /// `from` is the step that a checkpoint was left at, `total` the last one.
  ProgressLine(const Options &options, uint64_t from, uint64_t total);

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void evaluation(const Evaluation &) override {}
  void earlierStep(uint64_t, const accum_info &, const accum_step_result &result) override {
    tokens += result.targets;
  }
  /// Ends the line so that other output starts on its own.
  void interrupt() override;
  int finish() override;

private:
  bool isDue(uint64_t step);
  std::string toCheckpoint(uint64_t step);

  const Options &options;
  bool isTerminal, open = false;
  uint64_t from, total;
  int64_t tokens = 0;
  double started, shown, checkpoint; ///< by the clock; the latest line and checkpoint
};

} // namespace accum::run
#endif
