// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `differentiate`.
#pragma once

#include "mlir/Pass/Pass.h"

namespace accum {
#define GEN_PASS_DECL
#include "passes/Differentiate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Differentiate/Passes.h.inc"
} // namespace accum
