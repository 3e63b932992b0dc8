// SPDX-License-Identifier: Apache-2.0
// Pieces through two places -> device.fetch, device.store.
#include "passes/Schedule/OffloadMoves.h"

using namespace mlir;

namespace accum {

OffloadMoves::OffloadMoves(const StateLayout &layout, ProgramBuffers &buffers, OpBuilder &builder)
    : layout(layout), buffers(buffers), builder(builder), slots(layout.offloadedSlots()) {
  for (size_t unit = 0; unit < layout.units.size() && !layout.updatesWholeUnits(); ++unit)
    for (int64_t number = 0; number < layout.units[unit].pieces; ++number)
      pieces.push_back({unit, number});
}

int64_t OffloadMoves::offsetOf(Piece piece, StringRef slot) const {
  return layout.local(layout.startOf(slot, piece.unit)) +
         piece.number * static_cast<int64_t>(layout.pieceBytes(piece.unit));
}

void OffloadMoves::fetchParameters(size_t number, const Place &place, bool start, Location loc) {
  device::FetchOp::create(builder, loc, buffers.at(place, builder, loc),
                          layout.local(layout.gatheredUnit(number).first->parameters), start);
}

void OffloadMoves::storeParameters(size_t unit, const Place &place, Location loc) {
  device::StoreOp::create(builder, loc, buffers.at(place, builder, loc), offsetOf({unit, 0}, "parameter"),
                          /*start=*/false);
}

LogicalResult OffloadMoves::placeCopied(train::CommandOp command) {
  auto unit = command.getCopiesUnit();
  if (!unit || !hasParameters())
    return success();
  if (static_cast<int64_t>(layout.partBytes(*unit)) > layout.gatheredBytes)
    return command.emitError("copies more parameters than there is room to gather");
  Value wide = command.getInputs().front();
  buffers.place(wide, rowsOf(buffers.passing(*unit), cast<RankedTensorType>(wide.getType())));
  return success();
}

void OffloadMoves::fetchCopied(train::CommandOp command) {
  if (auto unit = command.getCopiesUnit(); unit && hasParameters())
    fetchParameters(*unit, buffers.passing(*unit), /*start=*/false, command.getLoc());
}

void OffloadMoves::fetchAll(Piece piece, bool start, Location loc) {
  for (StringRef slot : slots)
    device::FetchOp::create(builder, loc,
                            buffers.at(buffers.piece(slot, piece.unit, piece.number), builder, loc),
                            offsetOf(piece, slot), start);
}

void OffloadMoves::storeAll(Piece piece, bool start, Location loc) {
  for (StringRef slot : slots)
    device::StoreOp::create(builder, loc,
                            buffers.at(buffers.piece(slot, piece.unit, piece.number), builder, loc),
                            offsetOf(piece, slot), start);
}

void OffloadMoves::begin(Piece piece, Location loc) {
  fetchAll(piece, /*start=*/false, loc);
  auto at = llvm::find_if(pieces,
                          [&](Piece each) { return each.unit == piece.unit && each.number == piece.number; });
  if (std::next(at) == pieces.end())
    return;
  if (at != pieces.begin()) // whose place the next one comes to
    storeAll(*std::prev(at), /*start=*/false, loc);
  fetchAll(*std::next(at), /*start=*/true, loc);
}

void OffloadMoves::finish(Location loc) {
  for (Piece piece : ArrayRef(pieces).take_back(2))
    storeAll(piece, /*start=*/false, loc);
}

} // namespace accum
