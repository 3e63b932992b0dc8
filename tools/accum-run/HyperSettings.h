// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters and groups of the command line, as the C interface takes them.
#ifndef ACCUM_RUN_HYPERSETTINGS_H
#define ACCUM_RUN_HYPERSETTINGS_H

#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// accum_set_hyper; its result.
int setHyper(const Options &options, accum_session *session);

} // namespace accum::run
#endif
