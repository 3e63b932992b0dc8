// SPDX-License-Identifier: Apache-2.0
// The devices that there are, by the targets of artifacts.
#ifndef ACCUM_RUNTIME_SESSION_TARGETS_H
#define ACCUM_RUNTIME_SESSION_TARGETS_H

#include "runtime/device/Device.h"

namespace accum::runtime {

/// The device for an artifact's target; `target` may ask for "sim" instead, empty does not.
Expected<std::unique_ptr<Device>> openDevice(const Artifact &artifact, const std::string &target);

} // namespace accum::runtime
#endif
