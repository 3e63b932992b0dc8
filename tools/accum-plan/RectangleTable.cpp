// SPDX-License-Identifier: Apache-2.0
// Rectangles as CSV.
#include "tools/accum-plan/RectangleTable.h"
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/ProblemLine.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
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

/// A cell in quotes may hold commas; quotes around it are no part of it.
void splitCells(std::string_view line, std::vector<std::string_view> &cells) {
  cells.clear();
  for (size_t at = 0; at <= line.size();) {
    size_t first = line.find_first_not_of(" \t", at);
    size_t quote = first < line.size() && line[first] == '"' ? line.find('"', first + 1) : line.npos;
    size_t comma = std::min(line.find(',', quote == line.npos ? at : quote), line.size());
    std::string_view cell = trimmed(line.substr(at, comma - at));
    bool isQuoted = quote != line.npos && cell.data() + cell.size() == line.data() + quote + 1;
    cells.push_back(isQuoted ? cell.substr(1, cell.size() - 2) : cell);
    at = comma + 1;
  }
}

class TableReader {
public:
  Result<RectangleTable> read(std::string_view csv, const std::string &origin) {
    int number = 0;
    if (csv.starts_with("\xef\xbb\xbf")) // a byte order mark
      csv.remove_prefix(3);
    auto lines = static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n'));
    table.rows.reserve(lines);
    while (!csv.empty()) {
      size_t end = std::min(csv.find('\n'), csv.size());
      std::string_view line = trimmed(csv.substr(0, end));
      csv.remove_prefix(std::min(end + 1, csv.size()));
      ++number;
      if (line.empty() || line.starts_with('#'))
        continue;
      splitCells(line, cells);
      std::string wrong = columns.empty() ? readHeader(cells) : readRow(cells);
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
        return fmt::format("column `{}` is not one of {}", name, fmt::join(kColumns, ", "));
      columns.push_back(static_cast<int>(column - kColumns));
    }
    std::vector<int> sorted = columns;
    std::sort(sorted.begin(), sorted.end());
    bool isRepeated = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    if (sorted.size() != std::size(kColumns) || isRepeated)
      return fmt::format("expected each of the columns {} once", fmt::join(kColumns, ", "));
    return "";
  }

  std::string readRow(const std::vector<std::string_view> &row) {
    if (row.size() != columns.size())
      return fmt::format("{} cells, expected {}", row.size(), columns.size());
    std::string_view byColumn[std::size(kColumns)];
    for (size_t index = 0; index < row.size(); ++index)
      byColumn[columns[index]] = row[index];
    int64_t numbers[std::size(kColumns)] = {};
    for (size_t column = 1; column < std::size(kColumns); ++column) {
      auto number = parseInteger(byColumn[column]);
      if (!number || *number < 0 || *number > kAmountLimit)
        return fmt::format("{} is `{}`, expected a number from 0 to 2^60", kColumns[column],
                           byColumn[column]);
      numbers[column] = *number;
    }
    RectangleTable::Row read{std::string(byColumn[0]), numbers[1], numbers[2], numbers[3]};
    std::string wrong = complaintOf(read);
    if (wrong.empty())
      table.rows.push_back(std::move(read));
    return wrong;
  }

  std::string complaintOf(const RectangleTable::Row &row) {
    if (row.lower >= row.upper)
      return fmt::format("the lifetime [{}, {}) is empty", row.lower, row.upper);
    auto isOdd = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"' || c == 127; };
    if (std::any_of(row.id.begin(), row.id.end(), isOdd))
      return fmt::format("id `{}` holds a quote or a control character", row.id);
    if (row.id.empty() || !ids.insert(row.id).second)
      return fmt::format("id `{}` is empty or given twice", row.id);
    total += row.size;
    if (total > 2 * kAmountLimit)
      return "the sum of all sizes is larger than 2^61";
    return "";
  }

  RectangleTable table;
  std::vector<int> columns;
  std::vector<std::string_view> cells; ///< of the line that is read
  std::unordered_set<std::string> ids;
  int64_t total = 0; ///< of sizes
};

} // namespace

Result<RectangleTable> parseRectangles(std::string_view csv, const std::string &origin) {
  return TableReader().read(csv, origin);
}

std::string toCsv(const RectangleTable &table, const std::vector<int64_t> &offsets) {
  fmt::memory_buffer csv;
  auto out = fmt::appender(csv);
  fmt::format_to(out, "id,lower,upper,size,offset\n");
  for (size_t index = 0; index < table.rows.size(); ++index) {
    const RectangleTable::Row &row = table.rows[index];
    const char *quote = row.id.find(',') != std::string::npos || row.id.starts_with('#') ? "\"" : "";
    fmt::format_to(out, "{}{}{},{},{},{},{}\n", quote, row.id, quote, row.lower, row.upper, row.size,
                   offsets[index]);
  }
  return fmt::to_string(csv);
}

} // namespace accum::planner
