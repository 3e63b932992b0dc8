// SPDX-License-Identifier: Apache-2.0
// A flag set by a signal handler.
#include "tools/accum-run/training/StopSignal.h"
#include "runtime/system/SignalStack.h"
#include <csignal>
#include <ctime>

namespace accum::run {
namespace {

volatile std::sig_atomic_t requested = 0;
RankBoard *boardOfHandler = nullptr;
int rankOfHandler = 0;

/// What comes sooner is the same request: timeout(1) tells a process and then its group.
constexpr double kSameRequest = 0.2; ///< seconds
double firstRequest = 0;

/// A second interrupt leaves at once; files that appear by a rename are whole whenever it comes.
void onSignal(int number) {
  timespec clock = {};
  clock_gettime(CLOCK_MONOTONIC, &clock);
  double now = double(clock.tv_sec) + 1e-9 * double(clock.tv_nsec);
  if (requested && number == SIGINT && now - firstRequest >= kSameRequest) {
    std::signal(SIGINT, SIG_DFL);
    raise(SIGINT);
  }
  if (!requested)
    firstRequest = now;
  requested = 1;
  if (boardOfHandler)
    boardOfHandler->set(rankOfHandler, RankBoard::Told);
}

/// The libraries' own beginnings take milliseconds, in which a signal would end the process by the system's
/// default. Nothing is computed yet, so the handler needs no stack of its own. Runs before a sanitizer does.
__attribute__((no_sanitize("address", "thread", "undefined"))) void listenEarly() {
  static struct sigaction action; // zero
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (int number : {SIGINT, SIGTERM, SIGUSR1})
    sigaction(number, &action, nullptr);
}

/// The loader calls these behind its own work and before any library's.
[[gnu::section(".preinit_array"), gnu::used]] void (*const kBeforeLibraries)() = listenEarly;

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
