// SPDX-License-Identifier: Apache-2.0
// An NVIDIA card as a device: everything behind runtime/cuda/ put together. Nothing is allocated on the card
// after `allocate`.
#ifndef ACCUM_RUNTIME_CUDA_CUDADEVICE_H
#define ACCUM_RUNTIME_CUDA_CUDADEVICE_H

#include "runtime/cuda/GraphReplay.h"
#include "runtime/cuda/HostState.h"
#include "runtime/cuda/InputFeed.h"
#include "runtime/cuda/KernelModule.h"
#include "runtime/cuda/Matmul.h"
#include "runtime/cuda/Norm.h"
#include "runtime/cuda/RankSum.h"
#include "runtime/cuda/Transfer.h"
#include "runtime/device/Device.h"
#include "runtime/ranks/StartedSums.h"

namespace accum::runtime {

class CudaDevice : public Device {
public:
  /// Takes the card of this local rank.
  static Expected<std::unique_ptr<Device>> open(int localRank);
  ~CudaDevice() override;

  std::string name() const override;
  bool isSynchronous() const override { return replay.isStepwise(); }
  std::vector<std::string> kernelNames() const override { return kernels.names(); }
  std::vector<std::string> notices() const override;
  Status load(const Artifact &artifact) override;
  Status join(Collectives &all) override;
  Expected<uint8_t *> allocate(uint64_t programBytes, uint64_t inputBytes) override;
  uint64_t arenaBytes() const override { return allocated; }
  uint64_t peakBytes() const override { return peak; }

  Status write(void *to, uint64_t bytes, const Fill &fill) override;
  Expected<const uint8_t *> view(const void *from, uint64_t bytes) override;
  Expected<const void *> mirror(const void *own, uint64_t bytes) override;

  void startStep(bool evaluates) override;
  Status feed(MicroStep at, const FillInputs &fill) override;
  Status endMicro(std::optional<MicroStep> next) override;
  Status launch(uint32_t kernel, void *const *args) override;
  Status gemm(const accum_gemm &call, float beta) override;
  Status zero(void *to, uint64_t bytes) override;
  Status copy(void *to, const void *from, uint64_t bytes) override;
  Status allReduce(void *data, uint64_t n, DType dtype) override;
  Status startAllReduce(void *data, uint64_t n, DType dtype) override;
  Status reduceScatter(void *data, uint64_t n, DType dtype) override;
  Status allGather(void *to, const void *from, uint64_t bytes) override;
  Status startReduceScatter(void *data, uint64_t n, DType dtype) override;
  Status startAllGather(void *to, const void *from, uint64_t bytes) override;
  Status reserveOffloaded(uint64_t bytes, const std::string &folder) override;
  std::string offloadedTo(const std::string &folder) const override { return "in memory of the host"; }
  Status fetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status store(uint64_t offset, const void *from, uint64_t bytes) override;
  Status startFetch(void *to, uint64_t offset, uint64_t bytes) override;
  Status startStore(uint64_t offset, const void *from, uint64_t bytes) override;
  Status writeOffloaded(uint64_t offset, uint64_t bytes, const Fill &fill) override;
  Expected<const uint8_t *> viewOffloaded(uint64_t offset, uint64_t bytes) override;
  Expected<double> squaredNorm(const void *data, uint64_t n, DType dtype) override;
  Status synchronize() override;

  cuda::GraphReplay::Counts graphs() const { return replay.counts(); }

private:
  explicit CudaDevice(std::unique_ptr<cuda::Driver> driver);
  Status measure();
  Status run(const uint64_t *call);
  Status flush();
  Status finishSums();
  Status finishPart(uint64_t place);
  Status startBeside(std::initializer_list<uint64_t> call);

  /// The one allocation; freed behind everything that may still use it.
  struct Block {
    cuda::Driver &driver;
    cuda::Address start = 0;
    ~Block();
  };
  /// A block of the process's memory and its copy on the card.
  struct Mirror {
    const void *own;
    uint64_t bytes;
    cuda::Address copy;
  };

  // In the order in which they are made; each uses those above.
  std::unique_ptr<cuda::Driver> driver;
  Block arena;
  cuda::ComputeStream compute;
  cuda::KernelModule kernels;
  cuda::Norm norm;
  cuda::Matmul matmul;
  cuda::RankSum sums;
  cuda::Transfer transfer;
  cuda::HostState offloaded;
  cuda::InputFeed inputs;
  cuda::GraphReplay replay;

  cuda::Address mirrorArea = 0, normArea = 0;
  uint64_t allocated = 0, peak = 0, mirrorBytes = 0, mirrored = 0;
  std::vector<Mirror> mirrors;
  std::optional<MicroStep> at;
  bool evaluates = false;
  const FillInputs *fillAhead = nullptr;
  std::vector<uint64_t> words; ///< of the call being made
  StartedSums started;         ///< in this step
  std::set<uint64_t> begun;    ///< addresses of the parts that are on their way
  std::set<uint64_t> underWay; ///< of them, those that the compute stream has not waited for
  bool sumsRun = false;        ///< beside the compute stream, as far as calls were made
};

} // namespace accum::runtime
#endif
