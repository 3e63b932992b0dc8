// SPDX-License-Identifier: Apache-2.0
// Targets by name.
#include "runtime/Device.h"
#include "runtime/HostDevice.h"

namespace accum::runtime {

Expected<std::unique_ptr<Device>> openDevice(const Artifact &artifact) {
  const std::string &target = artifact.manifest.target;
  if (target == "host")
    return std::unique_ptr<Device>(std::make_unique<HostDevice>());
  return Error{kExitUsage, artifact.folder + ": is for target " + target + ", this runtime runs host only",
               "target"};
}

} // namespace accum::runtime
