// SPDX-License-Identifier: Apache-2.0
// The compiler as a whole: from options to an exit code.
#pragma once

#include "compiler/Driver/Options.h"

namespace accum::driver {

/// Compiles, and says what there is to say to the options' sink. Returns the exit code (see Errors.def; 0:
/// success).
int compile(const Options &options);

} // namespace accum::driver
