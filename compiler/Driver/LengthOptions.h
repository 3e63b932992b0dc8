// SPDX-License-Identifier: Apache-2.0
// `--dim NAME=SIZE`, and dimensions of several sizes: `NAME=16,32`, `NAME=auto:LONGEST`.
#pragma once

#include "compiler/Driver/Options.h"

namespace accum::driver {

/// Fills in `dims` and `lengths` from the values of --dim and --lengths-count (empty: not given); a message
/// where something is wrong.
std::string readDims(Options &options, const std::vector<std::string> &dims, const std::string &count);

/// What several sizes cannot be combined with, as a message with its slug; empty: nothing.
std::string misfitOfLengths(const Options &options);

} // namespace accum::driver
