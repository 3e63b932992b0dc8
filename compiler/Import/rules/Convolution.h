// SPDX-License-Identifier: Apache-2.0
// What convolutions and transposed ones do alike: spatial axes stand before the channels while they compute.
#pragma once
#include "compiler/Import/walk/Binder.h"

namespace accum::import {

constexpr size_t kMaxSpatialAxes = 3;

/// Letters of so many spatial axes in the spec of a contraction: places of the result, and taps of the
/// filter.
std::string placeLetters(int64_t spatial);
std::string tapLetters(int64_t spatial);

/// [N, places..., C] as [N, C, places...].
mlir::Value channelsFirst(Emitter &emit, mlir::Value x);
/// [N, C, places...] as [N, places..., C].
mlir::Value channelsLast(Emitter &emit, mlir::Value x);
/// `value` with axis `axis` split into groups x the rest.
mlir::Value splitGroups(Emitter &emit, mlir::Value value, size_t axis, int64_t groups);
/// Spatial extents of the filter [O, C / groups, kernel...] of an input with C channels; transposed,
/// [C, O / groups, kernel...]. Refuses a filter or bias that depends on samples, and operands that do not
/// fit.
llvm::SmallVector<int64_t> kernelOf(Binder &node, const Shape &input, const Shape &filter, mlir::Value bias,
                                    bool isTransposed);
/// What `entry` says of each tap at each place: [places..., taps...].
Content
indexTable(llvm::ArrayRef<int64_t> places, llvm::ArrayRef<int64_t> taps,
           llvm::function_ref<int64_t(llvm::ArrayRef<int64_t> place, llvm::ArrayRef<int64_t> tap)> entry);
/// Whether values are numbers of elements, at least `least`.
bool areCounts(llvm::ArrayRef<int64_t> values, int64_t least);

} // namespace accum::import
