// SPDX-License-Identifier: Apache-2.0
// Plans of one model at several sizes, which suit each other and fit together.
#pragma once

#include "compiler/Driver/Compilation.h"

namespace accum::driver {

/// One model, its sizes ascending.
using Sizes = std::vector<std::unique_ptr<Compilation>>;

/// Plans all of them, whose steps are built. Failure: reported to the workspace's diagnostics.
mlir::LogicalResult planLengths(const Options &options, Workspace &workspace, Sizes &sizes);

} // namespace accum::driver
