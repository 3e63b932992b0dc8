// SPDX-License-Identifier: Apache-2.0
// A flag set by a signal handler.
#include "tools/accum-run/StopSignal.h"
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
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM, SIGUSR1})
    sigaction(number, &action, nullptr);
}

bool stopRequested() { return requested != 0; }

} // namespace accum::run
