// SPDX-License-Identifier: Apache-2.0
// Packs, checks and explains a table of rectangles.
#include "compiler/Planner/Problem/Quantity.h"
#include "tools/accum-plan/RectangleTable.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <queue>

namespace accum::planner {

namespace {

using Row = RectangleTable::Row;

/// Rows of the largest load that are named.
constexpr size_t kNamed = 8;

/// Walks over time with the rows that are alive, by offset. The first pair that overlaps, or none.
std::pair<const Row *, const Row *> firstOverlap(const RectangleTable &table,
                                                 const std::vector<int64_t> &offsets) {
  std::vector<std::pair<int64_t, size_t>> order; // by start
  order.reserve(table.rows.size());
  for (size_t index = 0; index < table.rows.size(); ++index)
    order.emplace_back(table.rows[index].lower, index);
  std::sort(order.begin(), order.end());
  using Alive = std::map<int64_t, const Row *>;
  Alive alive;
  using End = std::pair<int64_t, Alive::iterator>; // by upper
  auto isLater = [](const End &a, const End &b) { return a.first > b.first; };
  std::priority_queue<End, std::vector<End>, decltype(isLater)> ends(isLater);
  for (auto [start, index] : order) {
    const Row &row = table.rows[index];
    int64_t offset = offsets[index];
    if (row.size == 0)
      continue;
    for (; !ends.empty() && ends.top().first <= row.lower; ends.pop())
      alive.erase(ends.top().second);
    auto above = alive.lower_bound(offset);
    if (above != alive.end() && above->first < offset + row.size)
      return {above->second, &row};
    if (above != alive.begin())
      if (auto below = std::prev(above); below->first + below->second->size > offset)
        return {below->second, &row};
    ends.emplace(row.upper, alive.emplace(offset, &row).first);
  }
  return {nullptr, nullptr};
}

} // namespace

Packing pack(const RectangleTable &table, const PackingEffort &effort) {
  std::vector<int64_t> times; // only their order matters
  for (const Row &row : table.rows)
    times.insert(times.end(), {row.lower, row.upper});
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto rankOf = [&](int64_t time) {
    return static_cast<int>(std::ranges::lower_bound(times, time) - times.begin());
  };
  std::vector<Rectangle> rectangles;
  for (const Row &row : table.rows)
    if (row.size > 0)
      rectangles.push_back({rankOf(row.lower), rankOf(row.upper), row.size});
  Packing packing = pack(std::span<const Rectangle>(rectangles), effort);
  std::vector<int64_t> offsets;
  for (size_t packed = 0; const Row &row : table.rows)
    offsets.push_back(row.size > 0 ? packing.offsets[packed++] : 0);
  packing.offsets = std::move(offsets);
  return packing;
}

Status verify(const RectangleTable &table, const std::vector<int64_t> &offsets, int64_t capacity) {
  auto invalid = [](std::string what) { return Error{std::move(what), "invalid-plan"}; };
  for (size_t index = 0; index < table.rows.size(); ++index) {
    const Row &row = table.rows[index];
    if (offsets[index] < 0 || row.size > capacity || offsets[index] > capacity - row.size)
      return invalid(fmt::format("{} is outside the capacity", row.id));
  }
  auto [a, b] = firstOverlap(table, offsets);
  if (a)
    return invalid(fmt::format("{} and {} overlap while both are alive", a->id, b->id));
  return {};
}

std::string explain(const RectangleTable &table, const Packing &packing) {
  std::string text = fmt::format("{:<20} {:>20} {:>12} {:>9}\n", "stage", "height", "of the bound", "time");
  auto out = std::back_inserter(text);
  auto bound = static_cast<double>(std::max<int64_t>(1, packing.lowerBound));
  for (const PackingStage &stage : packing.stages)
    fmt::format_to(out, "{:<20} {:>20} {:>12.4f} {:>9}\n", stage.name, stage.height,
                   static_cast<double>(stage.height) / bound, formatSeconds(stage.seconds));
  std::map<int64_t, int64_t> changes;
  for (const Row &row : table.rows) {
    changes[row.lower] += row.size;
    changes[row.upper] -= row.size;
  }
  int64_t load = 0, largest = 0, moment = 0;
  for (auto [time, change] : changes)
    if ((load += change) > largest) {
      largest = load;
      moment = time;
    }
  std::vector<const Row *> alive;
  for (const Row &row : table.rows)
    if (row.lower <= moment && moment < row.upper && row.size > 0)
      alive.push_back(&row);
  std::sort(alive.begin(), alive.end(), [](const Row *a, const Row *b) {
    return std::pair(-a->size, a) < std::pair(-b->size, b); // of equals the one above in the table
  });
  fmt::format_to(out, "largest load {} at time {}: {} alive", largest, moment, alive.size());
  for (size_t index = 0; index < std::min(kNamed, alive.size()); ++index)
    fmt::format_to(out, "{} {} {}", index == 0 ? ":" : ",", alive[index]->id, alive[index]->size);
  return text + "\n";
}

} // namespace accum::planner
