// SPDX-License-Identifier: Apache-2.0
// Results of row kernels in place of operands.
#include "passes/Fuse/InPlace.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/TileSum.h"
#include "mlir/IR/Builders.h"
#include "passes/Fuse/Outline.h"
#include "passes/Fuse/RowSpace.h"

using namespace mlir;

namespace accum {

/// Whether one loop over the rows writes all results: one result, or several of one shape. Others could be
/// written one after another, but for sums over tiles of rows, which are written behind their rows.
static bool isOneLoop(ValueRange results) {
  auto first = cast<RankedTensorType>(results.front().getType());
  return results.size() == 1 ||
         (first.getRank() > 0 && first.getShape().back() > 1 && llvm::all_of(results, [&](Value value) {
            auto other = cast<RankedTensorType>(value.getType());
            return nn::tileSumOf(value.getDefiningOp()) ||
                   (other.getShape() == first.getShape() && other.getEncoding() == first.getEncoding());
          }));
}

ArrayAttr inPlacePairs(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  if (!isOneLoop(body.getTerminator()->getOperands()))
    return {};
  for (Operation &op : body.without_terminator())
    if (!isKernelConstant(&op) && !isa<nn::ReshapeOp>(op) && !nn::tileSumOf(&op) &&
        (!rowSpaceOf(&op) || isDataMovement(&op)))
      return {};
  Builder builder(kernel.getContext());
  SmallVector<Attribute> pairs;
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes()))
    for (auto [j, argument] : llvm::enumerate(body.getArguments()))
      if (argument.getType() == result)
        pairs.push_back(builder.getDenseI64ArrayAttr({static_cast<int64_t>(i), static_cast<int64_t>(j)}));
  return builder.getArrayAttr(pairs);
}

} // namespace accum
