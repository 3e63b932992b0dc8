// SPDX-License-Identifier: Apache-2.0
// One rank blocks in the driver; with several the wait is a poll, since a peer that died never finishes its
// part of a collective.
#include "runtime/cuda/ComputeStream.h"
#include "runtime/system/Clock.h"
#include "runtime/system/ProgressCounter.h"
#include <unistd.h>

namespace accum::runtime::cuda {

Status ComputeStream::create() {
  CUDA_TRY(driver, cuStreamCreate, &stream, kStreamNonBlocking);
  CUDA_TRY(driver, cuEventCreate, &done, kEventDisableTiming);
  return {};
}

ComputeStream::~ComputeStream() {
  if (done)
    driver.api.cuEventDestroy_v2(done);
  if (stream)
    driver.api.cuStreamDestroy_v2(stream);
}

Status ComputeStream::wait() {
  CUDA_TRY(driver, cuEventRecord, done, stream);
  return waitFor(done);
}

Status ComputeStream::waitFor(Event event) {
  if (!watch) {
    CUDA_TRY(driver, cuEventSynchronize, event);
    return {};
  }
  double started = now();
  while (true) {
    Result code = driver.api.cuEventQuery(event);
    if (code != kNotReady)
      return driver.check(code, "cuEventQuery");
    if (Status status = watch(now() - started); !status)
      return status;
    countProgress();
    usleep(20);
  }
}

} // namespace accum::runtime::cuda
