// SPDX-License-Identifier: Apache-2.0
// Steps that take far longer than planned, and the likely reason.
#ifndef ACCUM_RUNTIME_SESSION_PACE_H
#define ACCUM_RUNTIME_SESSION_PACE_H

#include <optional>
#include <string>

namespace accum::runtime {

/// What the system has counted for this process.
struct ProcessorUse {
  double seconds = 0;     ///< of processor time, all threads
  long interruptions = 0; ///< times that a thread lost its processor to another

  static ProcessorUse read();
  ProcessorUse since(const ProcessorUse &before) const {
    return {seconds - before.seconds, interruptions - before.interruptions};
  }
};

/// A step as it went.
struct StepPace {
  double seconds = 0, predicted = 0; ///< by the clock, without waits for data; by the plan
  ProcessorUse use;                  ///< in the step
  int threads = 1, processors = 1;   ///< used, usable
  int ranks = 1;
  bool isThrottled = false;         ///< the control group was stopped, its quota being used up
  std::optional<double> quota = {}; ///< in processors
};

/// Of steps in a row, so that one that was disturbed counts for nothing.
class Pace {
public:
  static constexpr double kFar = 4;     ///< times the predicted time, which is off by less than two
  static constexpr double kShort = 0.1; ///< seconds that are too short to be noticed
  static constexpr int kInARow = 3;

  /// Whether it is to be said now, once: that the `kInARow` latest steps were far slower than `predicted`.
  bool isDue(double seconds, double predicted);

private:
  int slow = 0;
  bool isSaid = false;
};

/// The sentence, with the likely reason.
std::string describe(const StepPace &step);

} // namespace accum::runtime
#endif
