// SPDX-License-Identifier: Apache-2.0
// Steps and losses on chosen samples, with which --verify compares; nothing is trained by them.
#ifndef ACCUM_RUN_TRIAL_H
#define ACCUM_RUN_TRIAL_H

#include "runtime/accum_runtime.h"
#include "runtime/artifact/Manifest.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

int64_t ceilDiv(int64_t a, int64_t b);

/// Functions that return int give 0 or an exit code; then `complaint` says why. All ranks call them alike,
/// and get the same.
class Trial {
public:
  Trial(const Options &options, const runtime::Manifest &manifest, accum_session *session);

  /// Data, and an update that leaves the parameters as they are.
  int bind();
  /// One step over memory full of NaN, or of `fill`. A loss or gradient that is not finite is refused, by the
  /// data's fault or the program's.
  int step(const accum_cut &cut, double &loss, uint8_t fill = 0xff);
  /// The loss of rank 0, NaN where it is not finite: by a step, or by the program's forward part alone.
  int loss(bool byStep, double &value);
  /// What rank 0 says, on all ranks.
  int agree(double &value);
  /// Whether any rank says so.
  int agree(bool &any);
  int setCut(const accum_cut &cut);
  int64_t microSteps = 0; ///< of the latest step
  int read(const char *kind, size_t tensor, std::vector<uint8_t> &bytes);
  int write(size_t tensor, const std::vector<uint8_t> &bytes);
  int fail(const runtime::Error &error);
  /// The framework's name where the file says it.
  std::string nameOf(size_t tensor) const;

  bool speaks() const { return info.rank == 0; }
  /// As many as `perDevice` on each, but no more than the batch has.
  int64_t samplesOf(int64_t perDevice) const;

  const Options &options;
  const runtime::Manifest &manifest;
  accum_session *session;
  accum_info info{};
  std::vector<const runtime::ParameterSpec *> trained;
  std::string complaint;

private:
  int check(int code);
  int runStep(uint8_t fill, accum_step_result &result);
  int explainNotFinite(uint8_t fill, double loss);
  int failNotFinite(const std::string &what);
};

} // namespace accum::run
#endif
