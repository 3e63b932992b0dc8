// SPDX-License-Identifier: Apache-2.0
// The phase `plan` as a pass, for accum-opt.
#pragma once

namespace accum::driver {

/// Registers `phase-plan`: `--phase-plan="batch=64 memory=2GiB"`. Its options are accumc's flags of the same
/// names.
void registerPlanPass();

} // namespace accum::driver
