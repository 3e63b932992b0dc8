// SPDX-License-Identifier: Apache-2.0
// The line that is rewritten in place on a terminal, and the one sentence at the end of a run.
#ifndef ACCUM_RUN_PROGRESSLINE_H
#define ACCUM_RUN_PROGRESSLINE_H

#include "tools/accum-run/RunRecorder.h"

namespace accum::run {

/// Silent where stderr is no terminal.
class ProgressLine : public RunRecorder {
public:
  explicit ProgressLine(uint64_t steps);

  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void evaluation(const Evaluation &) override {}
  /// Ends the line so that other output starts on its own.
  void interrupt() override;
  int finish() override;

private:
  bool active, open = false;
  uint64_t steps;
  int64_t tokens = 0;
  double seconds = 0;
};

} // namespace accum::run
#endif
