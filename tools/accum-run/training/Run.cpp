// SPDX-License-Identifier: Apache-2.0
// Opens the artifact and does what was asked for with it.
#include "runtime/accum_runtime.h"
#include "tools/accum-run/training/RunResults.h"
#include "tools/accum-run/training/StopSignal.h"
#include "tools/accum-run/training/Training.h"
#include "tools/accum-run/training/Verification.h"

namespace accum::run {

int train(const Options &options, RankBoard &board) {
  listenForStop(&board, launchedRank());
  board.set(launchedRank(), RankBoard::Running);
  accum_open_options open = {sizeof(accum_open_options),
                             options.threads,
                             options.randomParams.has_value(),
                             options.onNan == "skip",
                             options.randomParams.value_or(0),
                             options.target.empty() ? nullptr : options.target.c_str(),
                             options.launcher.c_str(),
                             nullptr,
                             !options.init.empty(),
                             options.devices.value_or(0),
                             options.offloadDir.empty() ? nullptr : options.offloadDir.c_str(),
                             /*local_batches=*/0};
  accum_session *session = nullptr;
  int code = accum_open(options.artifact.c_str(), &open, &session);
  if (code != 0)
    return sayOpenFailed(code, accum_last_error(), board);
  code = options.verify ? verifyPlan(options, session) : runTraining(options, session);
  code = finishOutput(code);
  accum_close(session);
  board.set(launchedRank(), RankBoard::Ended);
  return code;
}

} // namespace accum::run
