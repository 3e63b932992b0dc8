// SPDX-License-Identifier: Apache-2.0
// Options that all ranks of a run must have been given alike.
#ifndef ACCUM_RUN_TRAINING_SHAREDSETTINGS_H
#define ACCUM_RUN_TRAINING_SHAREDSETTINGS_H

#include "runtime/accum_runtime.h"
#include "runtime/options/RunOptions.h"

namespace accum::run {

/// Refuses (exit 2), of all options on which ranks agree, what is not given the same on all of them, on each;
/// rank 0 names it on stderr. Slug `other-run`.
int requireSameSettings(accum_session *session, bool isFirst, const std::vector<runtime::Setting> &given);

} // namespace accum::run
#endif
