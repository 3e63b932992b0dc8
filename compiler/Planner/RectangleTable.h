// SPDX-License-Identifier: Apache-2.0
// Rectangles as CSV, `id,lower,upper,size`: the form that packing benchmarks use.
#pragma once
#include "compiler/Planner/Packing.h"
#include "compiler/Planner/Result.h"
#include <string>
#include <string_view>

namespace accum::planner {

struct RectangleTable {
  struct Row {
    std::string id;
    int64_t lower, upper, size; ///< alive in [lower, upper)
  };
  std::vector<Row> rows = {};
};

/// Columns in any order, each exactly once. Lifetimes must not be empty; a size may be 0. Slug
/// `malformed-csv`.
Result<RectangleTable> parseRectangles(std::string_view csv, const std::string &origin);

/// `id,lower,upper,size,offset`, in the order of the table.
std::string toCsv(const RectangleTable &table, const std::vector<int64_t> &offsets);

/// The rows' offsets and what is known of the height.
Packing pack(const RectangleTable &table, const PackingEffort &effort);

/// Whether the offsets keep apart what lives together, at or above 0 and within `capacity`: the O(n^2) way,
/// cut where lifetimes end. Slug `invalid-plan`.
Status verify(const RectangleTable &table, const std::vector<int64_t> &offsets, int64_t capacity);

} // namespace accum::planner
