// SPDX-License-Identifier: Apache-2.0
// Passes that end the phase `import`.
#pragma once

#include "mlir/Pass/Pass.h"

namespace accum {
#define GEN_PASS_DECL
#include "passes/Recognise/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Recognise/Passes.h.inc"
} // namespace accum
