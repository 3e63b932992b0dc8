// SPDX-License-Identifier: Apache-2.0
// Offloaded state comes to the device and goes back, a piece at a time.
#pragma once

#include "passes/Schedule/ProgramBuffers.h"

namespace accum {

/// Writes device ops at a builder's position. Nothing where nothing is offloaded.
class OffloadMoves {
public:
  OffloadMoves(const StateLayout &layout, ProgramBuffers &buffers, mlir::OpBuilder &builder);

  bool hasParameters() const { return llvm::is_contained(slots, "parameter"); }
  /// A device's parameters of a unit, also a frozen one, by its number among what is gathered, to their
  /// place. `start`: they begin to come.
  void fetchParameters(size_t number, const Place &place, bool start, mlir::Location loc);
  /// And back from there, of a trained one.
  void storeParameters(size_t unit, const Place &place, mlir::Location loc);
  // --- a command that copies a device's parameters of a unit, after all that its phase gathers ---
  /// It reads them in the place of gathered ones, through which they pass.
  mlir::LogicalResult placeCopied(train::CommandOp command);
  void fetchCopied(train::CommandOp command);

  /// A piece of a device's part of a unit.
  struct Piece {
    size_t unit = 0;
    int64_t number = 0;
  };
  // --- the update of all pieces in order: each passes through the half that the one before does not; none
  // where whole units are updated ---
  /// Before a piece's update: it is there, and the next one is on its way.
  void begin(Piece piece, mlir::Location loc);
  /// Behind a piece's update: it is on its way back.
  void end(Piece piece, mlir::Location loc) { storeAll(piece, /*start=*/true, loc); }
  /// Everything is back.
  void finish(mlir::Location loc);

private:
  void fetchAll(Piece piece, bool start, mlir::Location loc);
  void storeAll(Piece piece, bool start, mlir::Location loc);
  int64_t offsetOf(Piece piece, llvm::StringRef slot) const;

  const StateLayout &layout;
  ProgramBuffers &buffers;
  mlir::OpBuilder &builder;
  llvm::SmallVector<llvm::StringRef> slots;
  llvm::SmallVector<Piece> pieces; ///< of all units that pass through the halves
};

} // namespace accum
