// SPDX-License-Identifier: Apache-2.0
// A CudaDevice on the fake GPU in this process, with the toy's kernels.
#ifndef ACCUM_TEST_FAKEDEVICE_H
#define ACCUM_TEST_FAKEDEVICE_H

#include "runtime/cuda/CudaDevice.h"

namespace accum::test {

struct FakeDevice {
  runtime::Artifact artifact;
  runtime::Collectives alone;
  std::unique_ptr<runtime::Device> device;
  uint8_t *base = nullptr;

  /// With `bytes` of program memory and 256 of inputs.
  explicit FakeDevice(uint64_t bytes);
  runtime::CudaDevice &cuda() { return static_cast<runtime::CudaDevice &>(*device); }
  void put(uint64_t offset, const void *from, uint64_t bytes);
  std::vector<uint8_t> take(uint64_t offset, uint64_t bytes);
};

} // namespace accum::test
#endif
