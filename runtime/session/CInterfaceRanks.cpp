// SPDX-License-Identifier: Apache-2.0
// The part of accum_runtime.h that is about other processes.
#include "runtime/ranks/Launch.h"
#include "runtime/session/CInterface.h"
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
  return guarded([&] { return ownJob() ? report(ownJob()->broadcast(data, bytes)) : 0; });
}

void accum_leave(void) { ownJob().reset(); }

int accum_maximum(accum_session *session, int64_t value, int64_t *largest) {
  auto result = session->session->ranks().maximum(value);
  if (!result)
    return report(result.error());
  *largest = *result;
  return 0;
}

void accum_abort(accum_session *session, int32_t exitCode) {
  if (session)
    session->session->ranks().abort(exitCode);
  else if (ownJob())
    ownJob()->abort(exitCode);
  _exit(exitCode);
}

} // extern "C"
