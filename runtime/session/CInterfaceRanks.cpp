// SPDX-License-Identifier: Apache-2.0
// The part of accum_runtime.h that is about other processes.
#include "runtime/ranks/Launch.h"
#include "runtime/session/CInterface.h"
#include "runtime/system/Fork.h"
#include <unistd.h>

using namespace accum::runtime;

namespace {

/// What accum_join has joined.
std::shared_ptr<Collectives> &ownJob() {
  static std::shared_ptr<Collectives> job;
  return job;
}

std::string orAuto(const char *launcher) { return launcher ? launcher : "auto"; }

} // namespace

extern "C" {

int accum_launched(const char *launcher, int32_t *processes) {
  return guarded([&] {
    auto found = launchedProcesses(orAuto(launcher));
    *processes = found ? *found : 0;
    return found ? 0 : report(found.error());
  });
}

int accum_join(const char *launcher, int32_t *rank, int32_t *ranks) {
  *rank = 0;
  *ranks = 1;
  return guarded([&] {
    auto processes = launchedProcesses(orAuto(launcher));
    if (!processes || *processes <= 1)
      return processes ? 0 : report(processes.error());
    auto job = joinJob(orAuto(launcher));
    if (!job)
      return report(job.error());
    ownJob() = *job;
    *rank = (*job)->rank();
    *ranks = (*job)->ranks();
    return 0;
  });
}

int accum_broadcast(void *data, uint64_t bytes) {
  return guarded([&] {
    if (Status status = requireThreads(); !status || !ownJob())
      return report(status);
    Collectives::Doing doing(*ownJob(), ACCUM_SHARES, 0);
    return report(ownJob()->broadcast(data, bytes));
  });
}

int accum_leave(void) {
  return guarded([&] {
    std::shared_ptr<Collectives> job = std::move(ownJob());
    return job && job.use_count() == 1 && !isOrphan() ? report(job->leave()) : 0;
  });
}

int accum_maximum(accum_session *session, int64_t value, int64_t *largest) {
  return guarded(session, ACCUM_COMPARES, 0, [&](Session &own) {
    auto result = own.ranks().maximum(value);
    if (!result)
      return report(result.error());
    *largest = *result;
    return 0;
  });
}

void accum_abort(accum_session *session, int32_t exitCode) {
  if (session)
    session->session->ranks().abort(exitCode);
  else if (ownJob())
    ownJob()->abort(exitCode);
  _exit(exitCode);
}

void accum_fail(int32_t exitCode, const char *why) {
  if (ownJob() && !isOrphan())
    ownJob()->abort(exitCode, why);
  _exit(exitCode);
}

} // extern "C"
