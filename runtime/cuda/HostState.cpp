// SPDX-License-Identifier: Apache-2.0
// Streams that fork from the compute stream and join it again, so that graphs hold the copies too.
#include "runtime/cuda/HostState.h"
#include "base/FormatBytes.h"
#include "runtime/cuda/CallKind.h"
#include "runtime/system/Memory.h"
#include <cstring>

namespace accum::runtime::cuda {

HostState::~HostState() {
  for (Direction *direction : {&in, &out}) {
    if (direction->stream) {
      compute.driver.api.cuStreamSynchronize(direction->stream);
      compute.driver.api.cuStreamDestroy_v2(direction->stream);
    }
    for (Event event : {direction->before, direction->after})
      if (event)
        compute.driver.api.cuEventDestroy_v2(event);
  }
  if (memory)
    compute.driver.api.cuMemFreeHost(memory);
}

Status HostState::create(Direction &direction) {
  CUDA_TRY(compute.driver, cuStreamCreate, &direction.stream, kStreamNonBlocking);
  CUDA_TRY(compute.driver, cuEventCreate, &direction.before, kEventDisableTiming);
  CUDA_TRY(compute.driver, cuEventCreate, &direction.after, kEventDisableTiming);
  return {};
}

Status HostState::reserve(uint64_t bytes) {
  uint64_t available = availableMemory();
  void *pinned = nullptr;
  Result code =
      bytes <= available ? compute.driver.api.cuMemAllocHost_v2(&pinned, size_t(bytes)) : kOutOfMemory;
  if (code == kOutOfMemory)
    return Error{kExitRunFailed,
                 "offloaded state of " + formatBytes(bytes) + " does not fit into memory of the host (" +
                     formatBytes(available) + " available)",
                 "out-of-memory",
                 {"more --devices or --shard for accumc leave less of it on each host"}};
  if (Status status = compute.driver.check(code, "cuMemAllocHost"); !status)
    return status;
  memory = static_cast<uint8_t *>(pinned);
  std::memset(memory, 0, bytes);
  Status status = create(in);
  return status ? create(out) : status;
}

HostState::Direction &HostState::directionOf(uint64_t kind) {
  return kind == kStartFetchCall || kind == kFinishFetchesCall ? in : out;
}

void HostState::startStep() {
  for (Direction *direction : {&in, &out}) {
    if (direction->runs)
      (void)join(*direction);
    direction->runs = false;
    direction->begun.clear();
  }
}

Status HostState::start(const Call &call) {
  Direction &direction = directionOf(call[0]);
  if (!direction.begun.insert(call).second)
    return {};
  direction.runs = true;
  return replay.add(call.data());
}

Status HostState::end(const Call &call) {
  Direction &direction = directionOf(call[0]);
  Status status = start(call);
  direction.begun.erase(call);
  return status ? finish(direction) : status;
}

Status HostState::finish() {
  Status status = finish(in);
  return status ? finish(out) : status;
}

Status HostState::finish(Direction &direction) {
  if (!direction.runs)
    return {};
  direction.runs = false;
  uint64_t call[2] = {&direction == &in ? kFinishFetchesCall : kFinishStoresCall, 0};
  return replay.add(call);
}

/// What follows on the compute stream comes after all of this direction.
Status HostState::join(Direction &direction) {
  CUDA_TRY(compute.driver, cuEventRecord, direction.after, direction.stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, compute.stream, direction.after, 0);
  return {};
}

Status HostState::run(const uint64_t *call) {
  Direction &direction = directionOf(call[0]);
  if (call[0] == kFinishFetchesCall || call[0] == kFinishStoresCall)
    return join(direction);
  CUDA_TRY(compute.driver, cuEventRecord, direction.before, compute.stream);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, direction.stream, direction.before, 0);
  Address card = call[2];
  if (call[0] == kStartFetchCall)
    CUDA_TRY(compute.driver, cuMemcpyHtoDAsync_v2, card, memory + call[3], call[4], direction.stream);
  else
    CUDA_TRY(compute.driver, cuMemcpyDtoHAsync_v2, memory + call[3], card, call[4], direction.stream);
  return {};
}

} // namespace accum::runtime::cuda
