// SPDX-License-Identifier: Apache-2.0
// The environment is set before the driver is loaded for the first time.
#include "test/runtime/cuda/FakeDevice.h"
#include "test/runtime/ToyArtifact.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace accum::test {

using namespace runtime;

FakeDevice::FakeDevice(uint64_t bytes) {
  std::string folder = writeToyArtifact(freshFolder("fake-device"), {.target = "cuda"});
  setenv("ACCUM_CUDA_LIBRARIES", FAKE_CUDA_LIBRARIES, 1);
  setenv("FAKE_CUDA_KERNELS", TOY_KERNELS, 1);
  artifact = *readArtifact(folder);
  auto opened = CudaDevice::open(0);
  EXPECT_TRUE(opened) << format(opened.error());
  device = std::move(*opened);
  EXPECT_TRUE(device->load(artifact));
  EXPECT_TRUE(device->join(alone));
  auto memory = device->allocate(bytes, 256);
  EXPECT_TRUE(memory) << format(memory.error());
  base = *memory;
}

void FakeDevice::put(uint64_t offset, const void *from, uint64_t bytes) {
  EXPECT_TRUE(device->write(base + offset, bytes, [&](uint8_t *to) { std::memcpy(to, from, bytes); }));
}

std::vector<uint8_t> FakeDevice::take(uint64_t offset, uint64_t bytes) {
  auto data = device->view(base + offset, bytes);
  EXPECT_TRUE(data) << format(data.error());
  return data ? std::vector<uint8_t>(*data, *data + bytes) : std::vector<uint8_t>(bytes);
}

} // namespace accum::test
