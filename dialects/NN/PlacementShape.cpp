// SPDX-License-Identifier: Apache-2.0
// Placement rules of data movement.
#include "dialects/NN/Boundary.h"
#include "dialects/NN/PlacementRules.h"
#include <numeric>

using namespace mlir;
using namespace accum::nn::rule;
using Kind = accum::nn::Refusal::Kind;

namespace accum::nn {

static int64_t productOf(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

/// Row-major order keeps the samples apart iff as many elements lie before them on both sides; nullopt
/// otherwise, and where there are no elements.
static std::optional<Placement> reshapeTo(ArrayRef<int64_t> from, Placement placement, ArrayRef<int64_t> to,
                                          int64_t dim) {
  int64_t before = placement.outer * productOf(from.take_front(placement.dim));
  int64_t prefix = productOf(to.take_front(dim));
  if (prefix == 0 || before == 0 || before % prefix != 0 || to[dim] % (before / prefix) != 0)
    return std::nullopt;
  return Placement::batched(dim, before / prefix);
}

LogicalResult ReshapeOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  if (isBoundary(*this)) {
    if (!operands[0].isReplicated())
      return refuse(why, Kind::Misplaced, "makes a whole of what is not the same everywhere");
    results.assign(1, Placement::whole());
    return success();
  }
  if (!operands[0].isBatched()) {
    results.assign(1, operands[0]);
    return success();
  }
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  Placement wanted = declared(getResult());
  for (int64_t dim = 0; dim < rankOf(getResult()); ++dim) {
    if (wanted.isBatched() && dim != wanted.dim)
      continue;
    if (auto placement = reshapeTo(from, operands[0], to, dim)) {
      results.assign(1, *placement);
      return success();
    }
  }
  return refuse(why, Kind::MixesSamples,
                "reshapes " + wholeShape(getInput(), operands[0]) + " to " + wholeShape(getResult(), wanted) +
                    ", which moves elements of one sample into the place of another");
}

LogicalResult TransposeOp::inferPlacements(Placements operands, Results &results, Refusal &) {
  Placement placement = operands[0];
  if (placement.isBatched())
    placement.dim = std::distance(getPerm().begin(), llvm::find(getPerm(), placement.dim));
  results.assign(1, placement);
  return success();
}

/// From one row to all samples: the result's type says along which axis.
static LogicalResult broadcastToBatch(BroadcastOp op, Placement from, Placement wanted, Results &results,
                                      Refusal &why) {
  int64_t axis = wanted.dim - rankOf(op.getResult()) + rankOf(op.getInput());
  if (from.isPartial())
    return refuse(why, Kind::SumMeetsSamples, "spreads a sum over all samples back to each of them", {0});
  if (axis >= 0 && shapeOf(op.getInput())[axis] != 1)
    return refuse(why, Kind::BatchBakedIn,
                  "has a value of fixed shape " + wholeShape(op.getInput(), from) + " along the batch", {0});
  results.assign(1, wanted);
  return success();
}

LogicalResult BroadcastOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Placement placement = operands[0], wanted = declared(getResult());
  if (!placement.isBatched() && wanted.isBatched())
    return broadcastToBatch(*this, placement, wanted, results, why);
  if (placement.isBatched()) {
    int64_t extent = shapeOf(getInput())[placement.dim];
    placement.dim += rankOf(getResult()) - rankOf(getInput());
    if (shapeOf(getResult())[placement.dim] != extent)
      return refuse(why, Kind::MixesSamples,
                    "repeats the batch " + wholeShape(getInput(), operands[0]) + " along its own axis");
  }
  results.assign(1, placement);
  return success();
}

LogicalResult SliceOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  Placement placement = operands[0];
  if (placement.isBatched()) {
    int64_t rows = rowsOf(getInput(), placement), start = getStarts()[placement.dim];
    int64_t extent = shapeOf(getResult())[placement.dim];
    if (start % rows != 0 || extent % rows != 0 || extent == 0 || getStrides()[placement.dim] != 1)
      return refuse(why, Kind::TakesPart,
                    "takes some rows along the batch axis " + Twine(placement.dim) + " of " +
                        wholeShape(getInput(), placement));
    placement.outer = extent / rows;
  }
  results.assign(1, placement);
  return success();
}

LogicalResult PadOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  FailureOr<bool> settled = settleSum(*this, operands, {0, 1}, results, why);
  if (failed(settled) || *settled)
    return settled;
  Placement placement = operands[0];
  if (operands[1].isBatched())
    return refuse(why, Kind::MixesSamples, "pads with a value that differs from sample to sample");
  if (placement.isBatched()) {
    // Whole blocks only: the transpose of a slice.
    int64_t rows = rowsOf(getInput(), placement), extent = shapeOf(getResult())[placement.dim];
    if (getLow()[placement.dim] % rows != 0 || extent % rows != 0)
      return refuse(why, Kind::BatchBakedIn,
                    "pads the batch axis " + Twine(placement.dim) + " of " +
                        wholeShape(getInput(), placement));
    placement.outer = extent / rows;
  }
  results.assign(1, placement);
  return success();
}

/// Along the batch axis: blocks of samples, one behind the other, of as many rows each.
static LogicalResult concatBlocks(ConcatOp op, Placements operands, Results &results, Refusal &why) {
  int64_t outer = 0, rows = rowsOf(op.getOperand(0), operands[0]);
  for (auto [value, placement] : llvm::zip(op.getInputs(), operands)) {
    if (rowsOf(value, placement) != rows)
      return refuse(why, Kind::MixesSamples,
                    "puts blocks with different numbers of rows per sample one behind the other");
    outer += placement.outer;
  }
  results.assign(1, Placement::batched(operands[0].dim, outer));
  return success();
}

LogicalResult ConcatOp::inferPlacements(Placements operands, Results &results, Refusal &why) {
  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(operands.size()));
  FailureOr<bool> settled = settleSum(*this, operands, all, results, why);
  if (failed(settled) || *settled)
    return settled;
  auto batched = llvm::find_if(operands, [](Placement p) { return p.isBatched(); });
  if (batched == operands.end()) {
    results.assign(1, Placement::replicated());
    return success();
  }
  int64_t axis = getAxis();
  for (auto [i, placement] : llvm::enumerate(operands)) {
    if (placement.isReplicated())
      return refuse(why, Kind::BatchBakedIn,
                    "puts a value of fixed shape " + wholeShape(getOperand(i), placement) +
                        " beside the batch " + wholeShape(getOperand(batched - operands.begin()), *batched),
                    {static_cast<unsigned>(i)});
    if (placement.dim != batched->dim || (placement.dim != axis && placement.outer != batched->outer))
      return refuse(why, Kind::PairsSamples,
                    "puts values side by side whose samples lie in different orders");
  }
  if (batched->dim == axis)
    return concatBlocks(*this, operands, results, why);
  results.assign(1, *batched);
  return success();
}

} // namespace accum::nn
