// SPDX-License-Identifier: Apache-2.0
// The placement algebra: how the batch axis lies in a value, and how ops pass it on.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"

namespace accum::nn {

/// Where the samples of a value are. Unplaced: not known yet (import) or no longer needed (after schedule).
/// Whole: everywhere; the batch is not cut, its size is in the types, and any op may relate samples.
struct Placement {
  enum class Kind { Unplaced, Batched, Replicated, Partial, Whole };
  Kind kind = Kind::Unplaced;
  /// Batched only: axis `dim` is outer x N x rows, and the slab's extent there is outer * rows.
  int64_t dim = 0;
  int64_t outer = 1;

  static Placement batched(int64_t dim, int64_t outer = 1) { return {Kind::Batched, dim, outer}; }
  static Placement replicated() { return {Kind::Replicated}; }
  static Placement partial() { return {Kind::Partial}; }
  static Placement whole() { return {Kind::Whole}; }
  /// Read off a tensor type's encoding; Unplaced where there is none or an #nn.extent.
  static Placement of(mlir::Type type);

  bool isBatched() const { return kind == Kind::Batched; }
  bool isReplicated() const { return kind == Kind::Replicated; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool isWhole() const { return kind == Kind::Whole; }
  bool operator==(const Placement &other) const {
    return kind == other.kind && dim == other.dim && outer == other.outer;
  }

  /// The placement of this value's cotangent: batched and whole stay, replicated <-> partial.
  Placement dual() const;
  /// Null for Unplaced.
  mlir::Attribute encoding(mlir::MLIRContext *context) const;
  /// `type`'s slab with this placement.
  mlir::RankedTensorType place(mlir::Type type) const;
};

} // namespace accum::nn
