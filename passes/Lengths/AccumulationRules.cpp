// SPDX-License-Identifier: Apache-2.0
// What cutting the batch adds to a graph passes on what it is given.
#include "dialects/NN/Boundary.h"
#include "passes/Lengths/Site.h"

using namespace mlir;

namespace accum::lengths {
namespace {

/// Of a sum over the samples: what is zero in all of them.
LogicalResult total(nn::TotalOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  if (op && nn::isCut(op) && !result.axes.empty())
    return site.refuseEntry(op.getResult());
  result.length = result.below = std::nullopt;
  result.diagonal = {};
  for (RaggedAxis &axis : result.axes) {
    axis.first = {};
    if (axis.fill && !axis.fill->isNumber(0))
      axis.fill.reset();
    if (axis.fill)
      axis.fill->before.reset();
  }
  result.isTable = false;
  result.number = std::nullopt;
  result.least = result.least && *result.least >= 0 ? std::optional(0.0) : std::nullopt;
  return success();
}

/// Spare rows are zero, which no sample is.
LogicalResult maskRows(nn::MaskRowsOp op, Site &site, Results results) {
  Facts &result = results[0] = *site.operands[0];
  result.length = result.below = std::nullopt;
  for (RaggedAxis &axis : result.axes)
    if (axis.fill)
      axis.fill->before.reset();
  result.isTable = false;
  result.number = std::nullopt;
  return success();
}

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
