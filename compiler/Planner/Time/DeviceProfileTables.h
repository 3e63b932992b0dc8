// SPDX-License-Identifier: Apache-2.0
// The measured part of a device profile: its machine, tables of library calls, costs of operations.
#pragma once
#include "compiler/Planner/Problem/StrictJson.h"
#include "compiler/Planner/Time/DeviceProfile.h"

namespace accum::planner {

/// Reads `machine`, `tables`, `misses` and `costs`, each optional, and compares the machine with this one.
void readMeasured(ObjectReader &root, const HostFacts &host, Complaint &complaint, DeviceProfile &profile);

} // namespace accum::planner
