// SPDX-License-Identifier: Apache-2.0
// --verify: the step that the plan cuts against the same samples cut in other ways.
#ifndef ACCUM_RUN_VERIFICATION_H
#define ACCUM_RUN_VERIFICATION_H

#include "runtime/Manifest.h"
#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Compares loss and every gradient on synthetic data, prints the largest differences, and returns the exit
/// code: 4 where one is beyond the tolerance. All ranks call it. docs/verifying.md says what is compared and
/// why.
int verifyPlan(const Options &options, const runtime::Manifest &manifest, accum_session *session);

} // namespace accum::run
#endif
