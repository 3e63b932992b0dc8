// SPDX-License-Identifier: Apache-2.0
// `--dim NAME=16,32,...`: one program of several sizes.
#pragma once

#include "compiler/Driver/Options.h"

namespace accum::driver {

/// Compiles the model at each size of `options.lengths`, and the sizes into one program. Returns the exit
/// code. Slugs, in addition to those of a single compilation: `padding-reaches-loss` (1), `not-built`,
/// `usage` (2).
int compileLengths(const Options &options);

} // namespace accum::driver
