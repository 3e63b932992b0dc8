// SPDX-License-Identifier: Apache-2.0
// A split batch in one of two forms: the forward part of the first micro-step is kept, or runs twice as the
// others'.
#pragma once

#include "compiler/Driver/Options.h"

namespace accum::driver {

/// Whether the options leave open in which form a step runs.
bool mayKeepForward(const Options &options);

/// Compiles the form that is predicted to be faster. Keeping saves a part of the second forward pass, and
/// takes what the whole batch needs on top of what a micro-step does. Each form is planned once at most, and
/// the second one only where it may win.
int compileKeptOrNot(const Options &options, int (*compileOne)(const Options &));

} // namespace accum::driver
