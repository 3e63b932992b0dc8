// SPDX-License-Identifier: Apache-2.0
// Passes of precision: which element types are computed in.
#pragma once

#include "mlir/Pass/Pass.h"

namespace accum {
#define GEN_PASS_DECL
#include "passes/Precision/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Precision/Passes.h.inc"
} // namespace accum
