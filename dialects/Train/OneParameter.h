// SPDX-License-Identifier: Apache-2.0
// Loads and stores of an update that mean one parameter, or some, instead of all.
#pragma once

#include "dialects/Train/TrainDialect.h"

namespace accum::train {

/// On `load_slot`, `load_decay` and `store`: the symbol of the one parameter that they read or write, in that
/// parameter's shape; without it they mean the rows of all trained ones.
inline constexpr llvm::StringLiteral kOneParameter = "train.of";

/// Null: all of them.
inline mlir::FlatSymbolRefAttr oneParameterOf(mlir::Operation *op) {
  return op->getAttrOfType<mlir::FlatSymbolRefAttr>(kOneParameter);
}

/// On the same ops: a unit of parameters of a sharded state, of whose rows a rank has its part.
inline constexpr llvm::StringLiteral kUnit = "train.unit";

/// On a `param`: its number among those of the model file, where the state has them in another order.
inline constexpr llvm::StringLiteral kModelNumber = "train.number";

/// On the same ops: the piece of the part, where offloaded state passes through the device in pieces.
inline constexpr llvm::StringLiteral kPiece = "train.piece";

inline int64_t pieceOf(mlir::Operation *op) {
  auto piece = op->getAttrOfType<mlir::IntegerAttr>(kPiece);
  return piece ? piece.getInt() : 0;
}

/// A slot that only `load_slot` of one parameter has, in a loop: its copy in half the bytes, of a
/// sharded state.
inline constexpr llvm::StringLiteral kCopySlot = "copy";

inline std::optional<int64_t> unitOf(mlir::Operation *op) {
  auto unit = op->getAttrOfType<mlir::IntegerAttr>(kUnit);
  return unit ? std::optional(unit.getInt()) : std::nullopt;
}

} // namespace accum::train
