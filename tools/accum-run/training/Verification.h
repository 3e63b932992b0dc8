// SPDX-License-Identifier: Apache-2.0
// --verify: is the step that of the whole batch, and its gradient that of the loss?
#ifndef ACCUM_RUN_TRAINING_VERIFICATION_H
#define ACCUM_RUN_TRAINING_VERIFICATION_H

#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Prints what accum_verify says, on rank 0; the exit code: 4 where something is wrong. All ranks call it.
int verifyPlan(const Options &options, accum_session *session);

} // namespace accum::run
#endif
