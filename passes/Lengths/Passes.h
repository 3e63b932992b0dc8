// SPDX-License-Identifier: Apache-2.0
// Passes that compare several sizes of one dimension.
#pragma once

#include "mlir/Pass/Pass.h"

namespace accum {
#define GEN_PASS_DECL
#include "passes/Lengths/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Lengths/Passes.h.inc"
} // namespace accum
