// SPDX-License-Identifier: Apache-2.0
// Targets by name.
#include "runtime/session/Targets.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/host/HostDevice.h"
#include "runtime/ranks/Launch.h"
#include "runtime/sim/SimDevice.h"

namespace accum::runtime {

Expected<std::unique_ptr<Device>> openDevice(const Artifact &artifact, const std::string &target) {
  if (target == "sim")
    return std::unique_ptr<Device>(std::make_unique<sim::SimDevice>());
  const std::string &own = artifact.manifest.target;
  if (own == "host")
    return std::unique_ptr<Device>(std::make_unique<HostDevice>());
  if (own == "cuda")
    return CudaDevice::open(localRankOf());
  return Error{kExitUsage,
               artifact.folder + ": is for target " + own + ", this runtime runs host, cuda and sim",
               "target"};
}

} // namespace accum::runtime
