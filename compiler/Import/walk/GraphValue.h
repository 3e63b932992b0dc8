// SPDX-License-Identifier: Apache-2.0
// What import knows about one ONNX value, and operations on it that fold where they can and emit where not.
#pragma once
#include "compiler/Import/walk/Emitter.h"

namespace accum::import {

struct Selection;

/// Content, a run-time value, or both; or neither, when only the shape may be asked for: exporters take the
/// Shape of a maximum of indices whose values no one reads. `value` may be lean: any shape that broadcasts to
/// `shape`, so that an Expand costs nothing where its reader broadcasts anyway.
struct GraphValue {
  DType dtype = DType::Undefined;
  Shape shape;
  std::optional<Content> content;
  mlir::Value value;
  /// For integers that depend on data and on the sample's index: an element is that of `value` plus the
  /// affine part that `low` and `high` agree in, and lies between them (both included).
  struct Bounds {
    Content low, high;
  };
  std::optional<Bounds> bounds;
  std::shared_ptr<const std::vector<GraphValue>> items; ///< of a sequence, which is no tensor
  /// For what a mask selected: `shape` and `value` are those of all rows, which lie on axis 0. See
  /// Selection.h.
  std::shared_ptr<const Selection> selection;
  enum class Role {
    Rows,      ///< one row for each that is selected; the others may hold anything
    CleanRows, ///< the same; the others are finite, and so is what is computed from them
    Sizes,     ///< `content`: extents, where the multiples of N stand for multiples of the number selected
    Positions  ///< of the rows that are selected; only reads by them are known
  } role = Role::Rows;
  std::shared_ptr<const Refusal> refusal; ///< why there is neither: thrown when the value is needed

  GraphValue() = default;
  GraphValue(Content known) : dtype(known.dtype), shape(known.shape()), content(std::move(known)) {}
  GraphValue(DType dtype, mlir::Value value) : dtype(dtype), shape(shapeOf(value)), value(value) {}

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// A run-time value of exactly `shape`.
  mlir::Value whole(Emitter &emit) const;
  /// A run-time value that broadcasts to `shape`.
  mlir::Value lean(Emitter &emit) const;
  /// Without the part that is affine in the sample's index and the batch size; of exactly `shape`.
  mlir::Value residual(Emitter &emit) const;
  /// Content as its own bounds; bounds of at least `reach` in both directions where an integer has none.
  std::optional<Bounds> boundsOr(int64_t reach) const;
};

GraphValue elementwise(Emitter &emit, nn::ElementwiseFn fn, llvm::ArrayRef<const GraphValue *> operands);
GraphValue cast(Emitter &emit, const GraphValue &x, DType to);
GraphValue reshape(Emitter &emit, const GraphValue &x, llvm::ArrayRef<Extent> target);
GraphValue transpose(Emitter &emit, const GraphValue &x, llvm::ArrayRef<int64_t> perm);
/// `target` is the broadcast of the shape with something.
GraphValue broadcastTo(Emitter &emit, const GraphValue &x, llvm::ArrayRef<Extent> target);
GraphValue slice(Emitter &emit, const GraphValue &x, llvm::ArrayRef<int64_t> starts,
                 llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<Extent> target);
/// The first sample's part of `x`, with 1 for the batch axis `axis`: where all samples have the same, as
/// after an Expand of one.
std::optional<GraphValue> firstOfEqual(const GraphValue &x, int64_t axis);
GraphValue concat(Emitter &emit, llvm::ArrayRef<const GraphValue *> inputs, int64_t axis);

/// `low` <= x <= `high` everywhere, for an integer that depends on data only.
GraphValue withBounds(GraphValue x, int64_t low, int64_t high);

/// Static positions along a static axis: a slice where they are evenly spaced.
mlir::Value pick(Emitter &emit, mlir::Value x, int64_t axis, llvm::ArrayRef<int64_t> positions);

} // namespace accum::import
