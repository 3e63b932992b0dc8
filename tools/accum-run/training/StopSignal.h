// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGUSR1 ask a run to finish its step, save and end; a second SIGINT ends it at once.
#ifndef ACCUM_RUN_TRAINING_STOPSIGNAL_H
#define ACCUM_RUN_TRAINING_STOPSIGNAL_H

#include "tools/accum-run/training/RankBoard.h"

namespace accum::run {

/// From here on the signals are requests. The board, which may be null, learns that this rank was told.
void listenForStop(RankBoard *board, int rank);
bool stopRequested();

} // namespace accum::run
#endif
