// SPDX-License-Identifier: Apache-2.0
// The greedy driver for patterns of the fuse phase.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace accum {

/// Applies the patterns until none matches. Constants stay where they are: regions of a step are not isolated
/// from the driver's view of folding.
mlir::LogicalResult rewriteLocally(mlir::Operation *root, mlir::RewritePatternSet patterns);

} // namespace accum
