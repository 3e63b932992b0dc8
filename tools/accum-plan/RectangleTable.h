// SPDX-License-Identifier: Apache-2.0
// Rectangles as CSV, `id,lower,upper,size`: the form that packing benchmarks use.
#pragma once
#include "compiler/Planner/Packing/Packing.h"
#include "compiler/Planner/Problem/Result.h"
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

/// Columns in any order, each once. Lines that start with # are comments; a cell may be in quotes, and hold
/// commas there. Lifetimes must not be empty; a size may be 0. Slug `malformed-csv`.
Result<RectangleTable> parseRectangles(std::string_view csv, const std::string &origin);

/// `id,lower,upper,size,offset` in the order of the table.
std::string toCsv(const RectangleTable &table, const std::vector<int64_t> &offsets);

/// The rows' offsets and what is known of the height.
Packing pack(const RectangleTable &table, const PackingEffort &effort);

/// Whether rows that are alive at once do not overlap, and all are within [0, `capacity`). n log n. Slug
/// `invalid-plan`.
Status verify(const RectangleTable &table, const std::vector<int64_t> &offsets, int64_t capacity);

/// The stages of a packing, and what lives where the load is largest, in words.
std::string explain(const RectangleTable &table, const Packing &packing);

} // namespace accum::planner
