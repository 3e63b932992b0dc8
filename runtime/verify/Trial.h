// SPDX-License-Identifier: Apache-2.0
// Steps and losses on chosen samples, with which a verification compares; nothing is trained by them.
#ifndef ACCUM_RUNTIME_VERIFY_TRIAL_H
#define ACCUM_RUNTIME_VERIFY_TRIAL_H

#include "runtime/accum_verify.h"
#include "runtime/session/Session.h"
#include <fmt/format.h>

namespace accum::runtime::verify {

int64_t ceilDiv(int64_t a, int64_t b);
/// Two micro-steps and a part of a third: what the comparison of cuts takes.
int64_t mostPerDevice(int64_t m);

struct TrialOptions {
  double seconds = 60; ///< for the cuts, and for the gradient; 0: all cuts, no gradient
  uint64_t seed = 0;   ///< of samples that are drawn, of dropout and of random signs
  bool isSynthetic = false;
  void (*line)(void *user, const char *text) = nullptr;
  void (*check)(void *user, const accum_check *check) = nullptr;
  void *user = nullptr;
};

/// Functions that return int give 0 or an exit code; then `failure` says why. All ranks call them alike, and
/// get the same.
class Trial {
public:
  /// `samples`: of the session's trial, which has begun.
  Trial(const TrialOptions &options, Session &session, int64_t samples);

  /// One step over memory full of NaN, or of `fill`. A loss or gradient that is not finite is refused, by the
  /// data's fault or the program's.
  int step(const StepCut &cut, double &loss, uint8_t fill = 0xff);
  /// The loss of rank 0, NaN where it is not finite: by a step, or by the program's forward part alone.
  int loss(bool byStep, double &value);
  /// What rank 0 says, on all ranks.
  int agree(double &value);
  /// Whether any rank says so.
  int agree(bool &any);
  int64_t microSteps = 0; ///< of the latest step
  int read(const char *kind, size_t tensor, std::vector<uint8_t> &bytes);
  int write(size_t tensor, const std::vector<uint8_t> &bytes);
  int fail(const Error &error);
  /// The framework's name where the file says it.
  std::string nameOf(size_t tensor) const;

  /// A line of the report.
  template <typename... Values>
  void say(fmt::format_string<const Values &...> text, const Values &...values) const {
    if (options.line)
      options.line(options.user, fmt::format(text, values...).c_str());
  }
  void note(const std::string &check, double measured, double allowed, bool ok) const;
  /// As many as `perDevice` on each, but no more than there are.
  int64_t samplesOf(int64_t perDevice) const;

  const TrialOptions &options;
  const Manifest &manifest;
  int64_t devices;
  std::vector<const ParameterSpec *> trained;
  Error failure{};

private:
  int check(const Status &status);
  int runStep(uint8_t fill, accum_step_result &result);
  int explainNotFinite(uint8_t fill, double loss);
  int failNotFinite(const std::string &what);

  Session &session;
  int64_t batch;
};

} // namespace accum::runtime::verify
#endif
