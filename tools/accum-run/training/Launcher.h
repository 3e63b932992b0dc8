// SPDX-License-Identifier: Apache-2.0
// Where the processes of a job come from: one is enough, a launcher started them, or mpirun starts them from
// here.
#ifndef ACCUM_RUN_TRAINING_LAUNCHER_H
#define ACCUM_RUN_TRAINING_LAUNCHER_H

#include "tools/accum-run/Options.h"

namespace accum::run {

/// Refuses (exit 2) with the line to use when a launcher started another number than `devices`, which
/// --devices asks for.
runtime::Status checkLaunched(const Options &options, int processes, int64_t devices);

/// Starts `devices` local processes of this command line through mpirun, passes stop requests on, and returns
/// the job's exit code: a rank's own, 4 when one died, or 2 for more devices than one machine is for; the
/// last two are said on stderr.
int launchLocally(const Options &options, int devices);

} // namespace accum::run
#endif
