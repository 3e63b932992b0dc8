// SPDX-License-Identifier: Apache-2.0
// The thread is left to itself when nobody waits for it any more: its call cannot be ended from outside, and
// the process ends soon.
#include "runtime/cuda/WatchedCall.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ProgressCounter.h"
#include "runtime/system/QuietThread.h"
#include <atomic>
#include <unistd.h>

namespace accum::runtime::cuda {
namespace {

struct Answer {
  std::atomic<bool> isThere = false;
  Result code = kSuccess;
};

} // namespace

Expected<Result> callWatched(const Driver &driver, std::function<Result()> call,
                             const ComputeStream::Watch &watch) {
  auto answer = std::make_shared<Answer>();
  auto enter = driver.entrance();
  startQuietThread([answer, enter, call = std::move(call)] {
    Result entered = enter();
    answer->code = entered == kSuccess ? call() : entered;
    answer->isThere = true;
  }).detach();
  for (double started = now(); !answer->isThere;) {
    if (Status status = watch(now() - started); !status)
      return status.error();
    countProgress();
    usleep(20);
  }
  return answer->code;
}

} // namespace accum::runtime::cuda
