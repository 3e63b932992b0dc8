// SPDX-License-Identifier: Apache-2.0
// --verify: is the step that of the whole batch, and its gradient that of the loss?
#ifndef ACCUM_RUN_VERIFICATION_H
#define ACCUM_RUN_VERIFICATION_H

#include "runtime/accum_runtime.h"
#include "runtime/artifact/Manifest.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Compares cuts of the batch, and the gradient with differences of the loss; prints what was seen, and
/// returns the exit code: 4 where something is wrong. All ranks call it. docs/verifying.md says how and why.
int verifyPlan(const Options &options, const runtime::Manifest &manifest, accum_session *session);

} // namespace accum::run
#endif
