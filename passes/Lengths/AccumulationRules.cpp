// SPDX-License-Identifier: Apache-2.0
// What cutting the batch adds to a graph passes on what it is given.
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

LogicalResult total(nn::TotalOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  // A sum over the samples is the length of none.
  result.length = result.below = std::nullopt;
  for (RaggedAxis &axis : result.axes)
    if (axis.fill)
      axis.fill->before.reset();
  result.isTable = false;
  result.number = std::nullopt;
  return success();
}

/// Spare rows are zero, which no sample is.
LogicalResult maskRows(nn::MaskRowsOp op, Site &site, Results results) { return total({}, site, results); }

LogicalResult share(nn::ShareOp op, Site &site, Results results) { return total({}, site, results); }

LogicalResult batchSize(nn::BatchSizeOp op, Site &site, Results results) {
  results[0].least = 0;
  return success();
}

} // namespace

void addAccumulationRules(RuleTable &table) {
  table.add<nn::TotalOp, total>();
  table.add<nn::MaskRowsOp, maskRows>();
  table.add<nn::ShareOp, share>();
  table.add<nn::BatchSizeOp, batchSize>();
}

} // namespace accum::lengths
