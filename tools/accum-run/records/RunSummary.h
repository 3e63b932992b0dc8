// SPDX-License-Identifier: Apache-2.0
// The one line at the end of a run.
#ifndef ACCUM_RUN_RECORDS_RUNSUMMARY_H
#define ACCUM_RUN_RECORDS_RUNSUMMARY_H

#include "tools/accum-run/records/RunRecorder.h"
#include <cmath>

namespace accum::run {

class RunSummary : public RunRecorder {
public:
  void step(uint64_t step, const accum_info &info, const accum_step_result &result) override;
  void evaluation(const Evaluation &) override {}

  uint64_t steps() const { return taken; }
  /// On stdout; `batch` is the global one.
  void print(int64_t batch) const;

private:
  uint64_t taken = 0, skipped = 0, spikes = 0;
  double firstLoss = NAN, lastLoss = NAN, seconds = 0;
};

} // namespace accum::run
#endif
