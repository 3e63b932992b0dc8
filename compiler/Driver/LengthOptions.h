// SPDX-License-Identifier: Apache-2.0
// `--dim NAME=SIZE`, and dimensions of several sizes: `NAME=16,32`, `NAME=auto:LONGEST`.
#pragma once

#include "compiler/Driver/Options.h"

namespace accum::driver {

/// Fills in `dims` and `lengths` from what was given of --dim and --lengths-count; a message where something
/// is wrong.
std::string readDims(Options &options);

/// What several sizes cannot be combined with, as a message with its slug; empty: nothing.
std::string misfitOfLengths(const Options &options);

} // namespace accum::driver
