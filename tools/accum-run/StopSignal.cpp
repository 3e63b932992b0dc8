// SPDX-License-Identifier: Apache-2.0
// A flag set by a signal handler.
#include "tools/accum-run/StopSignal.h"
#include "runtime/system/SignalStack.h"
#include <csignal>

namespace accum::run {
namespace {

volatile std::sig_atomic_t requested = 0;
RankBoard *boardOfHandler = nullptr;
int rankOfHandler = 0;

void onSignal(int number) {
  if (requested && number == SIGINT)
    std::signal(SIGINT, SIG_DFL);
  requested = 1;
  if (boardOfHandler)
    boardOfHandler->set(rankOfHandler, RankBoard::Told);
}

} // namespace

void listenForStop(RankBoard *board, int rank) {
  boardOfHandler = board;
  rankOfHandler = rank;
  for (int number : {SIGINT, SIGTERM, SIGUSR1})
    runtime::handleOnOwnStack(number, onSignal, SA_RESTART);
  std::signal(SIGXFSZ, SIG_IGN); // a limit on files is an error of a write, as a full disk is
}

bool stopRequested() { return requested != 0; }

} // namespace accum::run
