// SPDX-License-Identifier: Apache-2.0
#include "dialects/NN/TileSum.h"

using namespace mlir;

namespace accum::nn {

std::optional<TileSum> tileSumOf(Operation *op) {
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  auto view = reduce ? reduce.getInput().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!view || reduce.getKind() != ReduceKind::sum || reduce.getAxes().size() != 1)
    return std::nullopt;
  ArrayRef<int64_t> rows = cast<RankedTensorType>(view.getInput().getType()).getShape();
  ArrayRef<int64_t> tiles = cast<RankedTensorType>(view.getType()).getShape();
  size_t rank = rows.size();
  if (rank < 2 || tiles.size() != rank + 1 || reduce.getAxes().front() != static_cast<int64_t>(rank) - 1)
    return std::nullopt;
  int64_t height = tiles[rank - 1];
  bool isCut = height > 0 && tiles[rank - 2] * height == rows[rank - 2] && tiles.back() == rows.back() &&
               tiles.take_front(rank - 2) == rows.take_front(rank - 2);
  return isCut ? std::optional(TileSum{view.getInput(), height}) : std::nullopt;
}

} // namespace accum::nn
