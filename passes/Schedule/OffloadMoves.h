// SPDX-License-Identifier: Apache-2.0
// Offloaded state comes to the device and goes back, a unit at a time.
#pragma once

#include "passes/Schedule/ProgramBuffers.h"

namespace accum {

/// Writes device ops at a builder's position. Nothing where nothing is offloaded.
class OffloadMoves {
public:
  OffloadMoves(const StateLayout &layout, ProgramBuffers &buffers, mlir::OpBuilder &builder)
      : layout(layout), buffers(buffers), builder(builder), slots(layout.offloadedSlots()) {}

  bool hasParameters() const { return llvm::is_contained(slots, "parameter"); }
  /// A device's parameters of a unit, to their place.
  void fetchParameters(size_t unit, const Place &place, mlir::Location loc) {
    fetch(unit, "parameter", place, /*start=*/false, loc);
  }

  // --- the update of all units in order: each passes through the half that the one before does not ---
  /// Before a unit's update: it is there, and the next one is on its way.
  void beginUnit(size_t unit, mlir::Location loc);
  /// Behind a unit's update: it is on its way back.
  void endUnit(size_t unit, mlir::Location loc);
  /// Everything is back.
  void finish(mlir::Location loc);

private:
  void fetch(size_t unit, llvm::StringRef slot, const Place &place, bool start, mlir::Location loc);
  void fetchAll(size_t unit, bool start, mlir::Location loc);
  void storeAll(size_t unit, bool start, mlir::Location loc);
  int64_t offsetOf(size_t unit, llvm::StringRef slot) const {
    return layout.local(layout.startOf(slot, unit));
  }

  const StateLayout &layout;
  ProgramBuffers &buffers;
  mlir::OpBuilder &builder;
  llvm::SmallVector<llvm::StringRef> slots;
};

} // namespace accum
