// SPDX-License-Identifier: Apache-2.0
// Where in a micro-step the sums of gradients over devices may begin.
#pragma once

#include "passes/Schedule/Contributions.h"
#include "passes/Schedule/ProgramBuffers.h"

namespace accum {

/// Buckets of neighbouring gradients by the command behind which they are final (planner::gradientBuckets).
/// Commands that run in slices together are one command here, the last of them.
class GradientSums {
public:
  /// Of the micro-step's body.
  GradientSums(mlir::Block &body, const Contributions &contributions, const StateLayout &layout,
               const ProgramBuffers &buffers);

  /// The ranges of the state, a tensor of elements each, that are final behind `command`; where the state is
  /// sharded, units.
  mlir::ArrayRef<Place> behind(train::CommandOp command) const;

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Place, 1>> places;
};

} // namespace accum
