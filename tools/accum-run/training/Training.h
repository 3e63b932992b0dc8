// SPDX-License-Identifier: Apache-2.0
// One rank's run: open, bind, step until done or stopped, save.
#ifndef ACCUM_RUN_TRAINING_TRAINING_H
#define ACCUM_RUN_TRAINING_TRAINING_H

#include "tools/accum-run/Options.h"
#include "tools/accum-run/training/RankBoard.h"

namespace accum::run {

/// Returns the process's exit code; everything that went wrong has been said on stderr, once for all ranks.
int train(const Options &options, RankBoard &board);

/// What `train` does with an open artifact where nothing is verified.
int runTraining(const Options &options, accum_session *session);

} // namespace accum::run
#endif
