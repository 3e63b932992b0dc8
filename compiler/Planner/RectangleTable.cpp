// SPDX-License-Identifier: Apache-2.0
// Rectangles as CSV.
#include "compiler/Planner/RectangleTable.h"
#include "compiler/Planner/Amount.h"
#include "compiler/Planner/ProblemLine.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <unordered_set>

namespace accum::planner {

namespace {

constexpr std::string_view kColumns[] = {"id", "lower", "upper", "size"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t at = 0; at <= line.size();) {
    size_t comma = std::min(line.find(',', at), line.size());
    cells.push_back(trimmed(line.substr(at, comma - at)));
    at = comma + 1;
  }
  return cells;
}

class TableReader {
public:
  Result<RectangleTable> read(std::string_view csv, const std::string &origin) {
    int number = 0;
    while (!csv.empty()) {
      size_t end = std::min(csv.find('\n'), csv.size());
      std::string_view line = trimmed(csv.substr(0, end));
      csv.remove_prefix(std::min(end + 1, csv.size()));
      ++number;
      if (line.empty())
        continue;
      std::string wrong = columns.empty() ? readHeader(cells(line)) : readRow(cells(line));
      if (!wrong.empty())
        return Error{fmt::format("{}:{}: {}", origin, number, wrong), "malformed-csv", {}, number};
    }
    if (columns.empty())
      return Error{fmt::format("{}: no table in it; expected the columns id,lower,upper,size", origin),
                   "malformed-csv"};
    return std::move(table);
  }

private:
  std::string readHeader(const std::vector<std::string_view> &names) {
    for (std::string_view name : names) {
      auto column = std::find(std::begin(kColumns), std::end(kColumns), name);
      if (column == std::end(kColumns))
        return fmt::format("column `{}` is not one of id, lower, upper, size", name);
      columns.push_back(static_cast<int>(column - kColumns));
    }
    std::vector<int> sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    return sorted == std::vector{0, 1, 2, 3} ? ""
                                             : "expected each of the columns id, lower, upper, size once";
  }

  std::string readRow(const std::vector<std::string_view> &row) {
    if (row.size() != columns.size())
      return fmt::format("{} cells, expected {}", row.size(), columns.size());
    std::string_view byColumn[4];
    for (size_t index = 0; index < row.size(); ++index)
      byColumn[columns[index]] = row[index];
    std::optional<int64_t> numbers[3];
    for (int index = 0; index < 3; ++index) {
      numbers[index] = parseInteger(byColumn[index + 1]);
      if (!numbers[index] || *numbers[index] < 0 || *numbers[index] > kAmountLimit)
        return fmt::format("{} is `{}`, expected a number from 0 to 2^60", kColumns[index + 1],
                           byColumn[index + 1]);
    }
    if (*numbers[0] >= *numbers[1])
      return fmt::format("the lifetime [{}, {}) is empty", *numbers[0], *numbers[1]);
    if (byColumn[0].empty() || !ids.insert(std::string(byColumn[0])).second)
      return fmt::format("id `{}` is empty or given twice", byColumn[0]);
    if ((total += *numbers[2]) > 2 * kAmountLimit)
      return "the sum of all sizes is larger than 2^61";
    table.rows.push_back({std::string(byColumn[0]), *numbers[0], *numbers[1], *numbers[2]});
    return "";
  }

  RectangleTable table;
  std::vector<int> columns;
  std::unordered_set<std::string> ids;
  int64_t total = 0;
};

} // namespace

Result<RectangleTable> parseRectangles(std::string_view csv, const std::string &origin) {
  return TableReader().read(csv, origin);
}

std::string toCsv(const RectangleTable &table, const std::vector<int64_t> &offsets) {
  std::string csv = "id,lower,upper,size,offset\n";
  for (size_t index = 0; index < table.rows.size(); ++index) {
    const RectangleTable::Row &row = table.rows[index];
    fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}\n", row.id, row.lower, row.upper, row.size,
                   offsets[index]);
  }
  return csv;
}

Packing pack(const RectangleTable &table, const PackingEffort &effort) {
  std::vector<int64_t> times;
  for (const RectangleTable::Row &row : table.rows)
    times.insert(times.end(), {row.lower, row.upper});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto rank = [&](int64_t time) {
    return static_cast<int>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  std::vector<Rectangle> rectangles;
  for (const RectangleTable::Row &row : table.rows)
    if (row.size > 0)
      rectangles.push_back({rank(row.lower), rank(row.upper), row.size});
  Packing packing = pack(std::span<const Rectangle>(rectangles), effort);
  std::vector<int64_t> offsets;
  for (size_t index = 0, packed = 0; index < table.rows.size(); ++index)
    offsets.push_back(table.rows[index].size > 0 ? packing.offsets[packed++] : 0);
  packing.offsets = std::move(offsets);
  return packing;
}

Status verify(const RectangleTable &table, const std::vector<int64_t> &offsets, int64_t capacity) {
  auto invalid = [](std::string what) { return Error{std::move(what), "invalid-plan"}; };
  std::vector<size_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return table.rows[a].lower < table.rows[b].lower; });
  for (size_t i = 0; i < order.size(); ++i) {
    const RectangleTable::Row &a = table.rows[order[i]];
    int64_t offset = offsets[order[i]];
    if (offset < 0 || a.size > capacity || offset > capacity - a.size)
      return invalid(fmt::format("{} stands outside the capacity", a.id));
    for (size_t j = i + 1; j < order.size() && table.rows[order[j]].lower < a.upper; ++j)
      if (offset < offsets[order[j]] + table.rows[order[j]].size && offsets[order[j]] < offset + a.size)
        return invalid(fmt::format("{} and {} overlap while both are alive", a.id, table.rows[order[j]].id));
  }
  return {};
}

} // namespace accum::planner
