// SPDX-License-Identifier: Apache-2.0
// Rules that make large known tables: masks and index ranges need no bytes in the program.
#pragma once
#include "compiler/Import/content/Content.h"

namespace accum::import {

/// start + step * (index along one axis).
struct Ramp {
  int64_t axis = 0, start = 0, step = 0;
};
/// Elements are row-major. Nothing for anything else, or for a table of one element.
std::optional<Ramp> rampOf(llvm::ArrayRef<int64_t> slab, llvm::ArrayRef<Element> elements);

/// One of two values everywhere.
struct TwoValues {
  Element first, second;
  std::optional<int64_t> diagonal; ///< `first` exactly where column < row + diagonal
  std::vector<Element> isFirst;    ///< booleans; empty with a diagonal
};
std::optional<TwoValues> twoValuesOf(llvm::ArrayRef<int64_t> slab, llvm::ArrayRef<Element> elements);

} // namespace accum::import
