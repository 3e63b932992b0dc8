// SPDX-License-Identifier: Apache-2.0
// Whether steps take as long as planned.
#ifndef ACCUM_RUNTIME_SESSION_PACEWATCH_H
#define ACCUM_RUNTIME_SESSION_PACEWATCH_H

#include "runtime/data/Division.h"
#include "runtime/device/Opened.h"
#include "runtime/session/Pace.h"
#include "runtime/system/Processors.h"

namespace accum::runtime {

class PaceWatch {
public:
  /// Which outlives it.
  explicit PaceWatch(Opened &opened) : opened(opened) {}

  /// As many as are asked for, by the options or by OMP_NUM_THREADS; otherwise the usable processors, shared
  /// with the other ranks on this machine.
  void chooseThreads(int asked);
  /// Of a step as it was planned.
  void setPlanned(int64_t microSteps) { plannedMicroSteps = microSteps; }
  void beginStep() { useBefore = ProcessorUse::read(); }
  /// Of a step, without the time for which it waited for rows, after so many updates; notes why it was slow.
  void judge(double seconds, uint64_t updates, const Division &division);

private:
  double plannedSeconds(const Division &division);

  Opened &opened;
  Pace pace;
  ProcessorUse useBefore;            ///< before the latest step
  uint64_t throttledBefore = 0;      ///< when the session was opened
  std::optional<double> plannedStep; ///< seconds, once somebody has asked
  int64_t plannedMicroSteps = 1;
};

} // namespace accum::runtime
#endif
