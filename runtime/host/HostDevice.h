// SPDX-License-Identifier: Apache-2.0
// The processor as a device: its memory is the process's, and every call has happened when it returns.
#ifndef ACCUM_RUNTIME_HOST_HOSTDEVICE_H
#define ACCUM_RUNTIME_HOST_HOSTDEVICE_H

#include "runtime/device/Device.h"
#include "runtime/host/Arena.h"
#include "runtime/host/OffloadFile.h"
#include "runtime/host/Poison.h"

namespace accum::runtime {

class HostDevice : public Device {
public:
  std::string name() const override { return "host"; }
  std::vector<std::string> notices() const override;
  Status load(const Artifact &artifact) override;
  Status join(Collectives &all) override;
  Status requireRoom(uint64_t bytes, int processes) override;
  Expected<uint8_t *> allocate(uint64_t programBytes, uint64_t inputBytes) override;
  uint64_t arenaBytes() const override { return arena.size(); }
  uint64_t peakBytes() const override;

  Status write(void *to, uint64_t bytes, const Fill &fill) override;
  Expected<const uint8_t *> view(const void *from, uint64_t bytes) override;
  Expected<const void *> mirror(const void *own, uint64_t bytes) override { return own; }

  void startStep(bool evaluates) override;
  std::vector<std::string> kernelNames() const override;
  bool isSynchronous() const override { return true; }
  Status feed(MicroStep at, const FillInputs &fill) override;
  Status launch(uint32_t kernel, void *const *args) override;
  Status gemm(const accum_gemm &call, float beta) override;
  Status attention(const accum_attention &call) override;
  Status zero(void *to, uint64_t bytes) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status allReduce(void *data, uint64_t n, DType dtype) override;
  Status reduceScatter(void *data, uint64_t n, DType dtype) override;
  Status allGather(void *to, const void *from, uint64_t bytes) override;
  Status startReduceScatter(void *data, uint64_t n, DType dtype) override;
  Status startAllGather(void *to, const void *from, uint64_t bytes) override;
  Status reserveOffloaded(uint64_t bytes, const std::string &folder) override;
  std::string offloadedTo(const std::string &folder) const override { return "in a file in " + folder; }
  Status fetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status store(uint64_t offset, const void *from, uint64_t bytes) override;
  Status startFetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status startStore(uint64_t offset, const void *from, uint64_t bytes) override;
  Status writeOffloaded(uint64_t offset, uint64_t bytes, const Fill &fill) override;
  Expected<const uint8_t *> viewOffloaded(uint64_t offset, uint64_t bytes) override;
  Expected<double> squaredNorm(const void *data, uint64_t n, DType dtype) override;

protected:
  uint64_t rank() const { return uint64_t(ranks->rank()); }
  uint64_t rankCount() const { return uint64_t(ranks->ranks()); }

private:
  std::optional<Poison> poison;
  const accum_kernels_v1 *kernels = nullptr;
  Collectives *ranks = nullptr;
  bool measuresBf16 = false; ///< the program multiplies bf16, and how is chosen by measuring
  Arena arena;
  uint8_t *inputs = nullptr;
  std::unique_ptr<OffloadFile> offloaded; ///< none where the whole state is in the arena
  std::vector<uint8_t> piece;             ///< of offloaded memory, for the process
};

} // namespace accum::runtime
#endif
