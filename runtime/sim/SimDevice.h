// SPDX-License-Identifier: Apache-2.0
// A GPU on the processor: kernels of a CUDA artifact as fibers, library calls and sums by the host's,
// everything checked.
#ifndef ACCUM_RUNTIME_SIM_SIMDEVICE_H
#define ACCUM_RUNTIME_SIM_SIMDEVICE_H

#include "runtime/host/HostDevice.h"
#include "runtime/ranks/StartedSums.h"
#include "runtime/sim/SimKernels.h"
#include <map>

namespace accum::runtime::sim {

class SimDevice : public HostDevice {
public:
  std::string name() const override { return "sim"; }
  std::vector<std::string> notices() const override;
  Status load(const Artifact &artifact) override;
  Expected<uint8_t *> allocate(uint64_t programBytes, uint64_t inputBytes) override;

  Status write(void *to, uint64_t bytes, const Fill &fill) override;
  void startStep(bool evaluates) override;
  Status launch(uint32_t kernel, void *const *args) override { return kernels->launch(kernel, args); }
  Status gemm(const accum_gemm &call, float beta) override;
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): refused, as by every GPU
  Status attention(const accum_attention &call) override { return Device::attention(call); }
  Status zero(void *to, uint64_t bytes) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status allReduce(void *data, uint64_t n, DType dtype) override;
  /// At once; what is in the range must not change until `allReduce`.
  Status startAllReduce(void *data, uint64_t n, DType dtype) override;
  /// Nobody may read or write a part before the call that ends its way.
  Status reduceScatter(void *data, uint64_t n, DType dtype) override;
  Status allGather(void *to, const void *from, uint64_t bytes) override;
  Status startReduceScatter(void *data, uint64_t n, DType dtype) override;
  Status startAllGather(void *to, const void *from, uint64_t bytes) override;
  /// The same of what is fetched, and nobody may write what is being stored.
  Status fetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status store(uint64_t offset, const void *from, uint64_t bytes) override;
  Status startFetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status startStore(uint64_t offset, const void *from, uint64_t bytes) override;

private:
  Status requireWritten(const char *what, const void *address, uint64_t bytes) const;
  Status sum(StartedSums::Range range, DType dtype);
  Status requireUntouched() const;
  Status endBegun(const void *place);

  std::unique_ptr<SimKernels> kernels;
  uint64_t stateBytes = 0, scratchBytes = 0;
  uint8_t *base = nullptr;
  bool tf32 = false;
  StartedSums started;
  std::map<uint64_t, std::vector<uint8_t>> sums;  ///< what was started, by address, as it was then
  std::map<uint64_t, std::vector<uint8_t>> begun; ///< the same of parts: what must not change until they end
};

} // namespace accum::runtime::sim
#endif
