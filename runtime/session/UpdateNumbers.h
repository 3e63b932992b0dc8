// SPDX-License-Identifier: Apache-2.0
// The numbers of an update: learning rate, decay, clipping, and where the device has them.
#ifndef ACCUM_RUNTIME_SESSION_UPDATENUMBERS_H
#define ACCUM_RUNTIME_SESSION_UPDATENUMBERS_H

#include "runtime/device/Opened.h"
#include "runtime/options/Schedule.h"
#include "runtime/session/Hyper.h"

namespace accum::runtime {

class UpdateNumbers {
public:
  /// Which outlives it.
  explicit UpdateNumbers(Opened &opened) : opened(opened) {}

  /// `made` of these options.
  void set(Hyper made, const HyperOptions &options);
  Status setSchedule(const ScheduleOptions &options, uint64_t steps);
  /// For the next update, in step `step`.
  Expected<accum_hyper> mirror(uint64_t step);
  /// Scales gradients of this global norm down to the one that is asked for.
  Status clip(double norm);
  const Coefficients &coefficients() const { return hyper.coefficients; }
  double skipSpikes() const { return hyper.skipSpikes; }
  double ema() const { return hyper.ema; }
  /// A checksum of all that decides step `step`.
  uint64_t contents(uint64_t step) const;

  RunOptions asked;     ///< of the update and the schedule
  double rate = 0;      ///< the learning rate of the latest step
  uint64_t updates = 0; ///< steps that changed the parameters

private:
  Opened &opened;
  Hyper hyper;
  Schedule schedule;
  /// What kernels read alongside their buffers; the device has copies of these at fixed addresses.
  double values[ACCUM_HYPER_COUNT] = {};
  std::vector<double> decay; ///< accum_hyper::decay
};

} // namespace accum::runtime
#endif
