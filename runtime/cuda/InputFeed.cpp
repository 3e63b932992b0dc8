// SPDX-License-Identifier: Apache-2.0
// Three hand-overs, an event each: a pinned block is free when its copy has happened, the landing block when
// it has been taken over, and the inputs are new when the landing block is full.
#include "runtime/cuda/InputFeed.h"

namespace accum::runtime::cuda {

Status InputFeed::create(Address ownInputs, Address ownLanding, uint64_t blockBytes) {
  inputs = ownInputs;
  landing = ownLanding;
  bytes = blockBytes;
  CUDA_TRY(compute.driver, cuStreamCreate, &copies, kStreamNonBlocking);
  CUDA_TRY(compute.driver, cuEventCreate, &consumed, kEventDisableTiming);
  for (Block &block : blocks) {
    CUDA_TRY(compute.driver, cuMemAllocHost_v2, reinterpret_cast<void **>(&block.memory), size_t(bytes));
    CUDA_TRY(compute.driver, cuEventCreate, &block.copied, kEventDisableTiming);
  }
  return {};
}

InputFeed::~InputFeed() {
  const DriverApi &api = compute.driver.api;
  for (Block &block : blocks) {
    if (block.copied) {
      api.cuEventSynchronize(block.copied);
      api.cuEventDestroy_v2(block.copied);
    }
    if (block.memory)
      api.cuMemFreeHost(block.memory);
  }
  if (consumed)
    api.cuEventDestroy_v2(consumed);
  if (copies)
    api.cuStreamDestroy_v2(copies);
}

Status InputFeed::fetch(MicroStep at, const Device::FillInputs &fill) {
  Block &block = blocks[next];
  next ^= 1;
  if (Status status = compute.waitFor(block.copied); !status)
    return status;
  landed = fill(at, block.memory);
  CUDA_TRY(compute.driver, cuStreamWaitEvent, copies, consumed, 0);
  CUDA_TRY(compute.driver, cuMemcpyHtoDAsync_v2, landing, block.memory, size_t(landed), copies);
  CUDA_TRY(compute.driver, cuEventRecord, block.copied, copies);
  ready = at;
  arrived = block.copied;
  return {};
}

Status InputFeed::feed(MicroStep at, const Device::FillInputs &fill) {
  if (!ready || ready->phase != at.phase || ready->k != at.k)
    if (Status status = fetch(at, fill); !status)
      return status;
  ready.reset();
  CUDA_TRY(compute.driver, cuStreamWaitEvent, compute.stream, arrived, 0);
  CUDA_TRY(compute.driver, cuMemcpyDtoDAsync_v2, inputs, landing, size_t(landed), compute.stream);
  CUDA_TRY(compute.driver, cuEventRecord, consumed, compute.stream);
  return {};
}

} // namespace accum::runtime::cuda
