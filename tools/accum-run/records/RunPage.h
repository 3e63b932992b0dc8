// SPDX-License-Identifier: Apache-2.0
// The page of a run: one file, no network.
#ifndef ACCUM_RUN_RECORDS_RUNPAGE_H
#define ACCUM_RUN_RECORDS_RUNPAGE_H

#include "tools/accum-run/records/RunReport.h"

namespace accum::run {

/// HTML; the curves are in it as JSON too, `[step, least, mean, greatest]` for each point.
std::string runPage(const RunStory &story);

} // namespace accum::run
#endif
