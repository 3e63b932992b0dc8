// SPDX-License-Identifier: Apache-2.0
// The greedy driver for patterns of the fuse phase.
#include "passes/Fuse/RewriteLocally.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace accum {

LogicalResult rewriteLocally(Operation *root, RewritePatternSet patterns) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  config.enableConstantCSE(false);
  return applyPatternsGreedily(root, std::move(patterns), config);
}

} // namespace accum
