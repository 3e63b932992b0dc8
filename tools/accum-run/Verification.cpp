// SPDX-License-Identifier: Apache-2.0
// Cuts, then the gradient.
#include "tools/accum-run/Verification.h"
#include "tools/accum-run/CutCheck.h"
#include "tools/accum-run/GradientCheck.h"
#include <cstdio>

namespace accum::run {

int verifyPlan(const Options &options, const runtime::Manifest &manifest, accum_session *session) {
  Trial trial(options, manifest, session);
  int code = trial.bind();
  if (code == 0)
    code = checkCuts(trial);
  if (code == 0 && options.verifySeconds > 0)
    code = checkGradient(trial);
  std::fflush(stdout);
  if (code != 0 && trial.speaks())
    std::fputs(trial.complaint.c_str(), stderr);
  return code;
}

} // namespace accum::run
