// SPDX-License-Identifier: Apache-2.0
// What a mask selects, x[mask]: all rows together with the mask, never fewer rows.
#pragma once
#include "compiler/Import/walk/Binder.h"

namespace accum::import {

/// The rows where `mask` is true. How many there are depends on data, so every value of that many rows is
/// held as all rows, of which those that are not selected may hold anything.
struct Selection {
  mlir::Value mask;                                       ///< i1, one axis of c*N rows
  Shape shape;                                            ///< of the mask that NonZero read
  int64_t rows() const { return shapeOf(mask)[0].count; } ///< c
};

/// Mixtures of experts choose rows so, unless they are told not to.
inline constexpr const char *wayOutOfExperts =
    "experts of Hugging Face transformers: export with experts_implementation=\"batched_mm\"";

/// The positions where `mask` is not zero: [axes of the mask, count].
GraphValue select(Emitter &emit, const GraphValue &mask);

/// How many are selected, an i64 scalar: a sum over samples.
mlir::Value countOf(Emitter &emit, const Selection &selection);

/// Axis 0 of `x` is `k` times the rows of the selection; `other` in those that are not selected. A select
/// and no product: what they hold may be NaN, and its gradient goes nowhere.
mlir::Value filled(Emitter &emit, const GraphValue &x, double other);

/// Masks that are computed alike select the same.
bool isSame(const Selection &a, const Selection &b);

/// Some input is rows of a selection, their number, or their positions.
bool readsSelection(Binder &node);
/// Applies `rule` row by row, or sums over the selected rows. Refuses everything else.
void applyToSelection(Binder &node, Values &values, Rule rule);

} // namespace accum::import
