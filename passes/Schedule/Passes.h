// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `schedule`.
#pragma once

#include "mlir/Pass/Pass.h"

namespace accum {
#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"
} // namespace accum
