// SPDX-License-Identifier: Apache-2.0
// The line that is rewritten in place on a terminal, and the one sentence at the end of a run.
#ifndef ACCUM_RUN_PROGRESSLINE_H
#define ACCUM_RUN_PROGRESSLINE_H

#include "runtime/accum_runtime.h"
#include <cstdint>

namespace accum::run {

class ProgressLine {
public:
  /// Silent where stderr is no terminal, or when not wanted.
  ProgressLine(bool wanted, uint64_t steps);
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  /// `step` counts from 1.
  void show(uint64_t step, const accum_info &info, const accum_step_result &result);
  /// Ends the line so that other output starts on its own.
  void finish();

private:
  bool active, open = false;
  uint64_t steps;
  int64_t tokens = 0;
  double seconds = 0;
};

} // namespace accum::run
#endif
