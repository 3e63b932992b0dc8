// SPDX-License-Identifier: Apache-2.0
// The MLIR context of a test binary.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace accum::test {

/// With every dialect loaded, which takes longer than most kernels; it lives as long as the process.
mlir::MLIRContext &sharedContext();

} // namespace accum::test
