// SPDX-License-Identifier: Apache-2.0
// Units through two places -> device.fetch, device.store.
#include "passes/Schedule/OffloadMoves.h"

using namespace mlir;

namespace accum {

void OffloadMoves::fetch(size_t unit, StringRef slot, const Place &place, bool start, Location loc) {
  device::FetchOp::create(builder, loc, buffers.at(place, builder, loc), offsetOf(unit, slot), start);
}

void OffloadMoves::fetchAll(size_t unit, bool start, Location loc) {
  for (StringRef slot : slots)
    fetch(unit, slot, buffers.part(slot, unit), start, loc);
}

void OffloadMoves::storeAll(size_t unit, bool start, Location loc) {
  for (StringRef slot : slots)
    device::StoreOp::create(builder, loc, buffers.at(buffers.part(slot, unit), builder, loc),
                            offsetOf(unit, slot), start);
}

void OffloadMoves::beginUnit(size_t unit, Location loc) {
  fetchAll(unit, /*start=*/false, loc);
  if (unit + 1 == layout.units.size())
    return;
  if (unit > 0) // whose place the next one comes to
    storeAll(unit - 1, /*start=*/false, loc);
  fetchAll(unit + 1, /*start=*/true, loc);
}

void OffloadMoves::endUnit(size_t unit, Location loc) { storeAll(unit, /*start=*/true, loc); }

void OffloadMoves::finish(Location loc) {
  size_t count = layout.units.size();
  for (size_t unit = count - std::min<size_t>(2, count); unit < count; ++unit)
    storeAll(unit, /*start=*/false, loc);
}

} // namespace accum
