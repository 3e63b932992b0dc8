// SPDX-License-Identifier: Apache-2.0
// Bytes, times and rates as people read and write them.
#include "compiler/Planner/Problem/Quantity.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Amount.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <string_view>

namespace accum::planner {

namespace {

struct Suffix {
  std::string_view name;
  double bytes;
};
constexpr Suffix kSuffixes[] = {{"", 1},         {"K", 0x1p10},   {"M", 0x1p20},   {"G", 0x1p30},
                                {"T", 0x1p40},   {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}, {"KB", 1e3},
                                {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};

} // namespace

Result<int64_t> parseBytes(const std::string &text) {
  double value = 0;
  auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Suffix &suffix : kSuffixes) {
    if (failed != std::errc() || rest != suffix.name)
      continue;
    double bytes = value * suffix.bytes;
    if (bytes >= 1 && bytes <= static_cast<double>(kAmountLimit))
      return static_cast<int64_t>(std::floor(bytes));
  }
  return Error{
      fmt::format("`{}` is not a size; expected a positive number with a unit such as 512MiB or 16GiB", text),
      "usage"};
}

std::string countComplaint(const std::string &text) {
  bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  size_t zeros = digits ? text.find_first_not_of('0') : std::string::npos;
  if (zeros != std::string::npos)
    return text.size() - zeros <= 15 ? std::string() : text + " is too large: at most 15 digits";
  return fmt::format("{} is not a positive whole number", text.empty() ? "nothing" : text);
}

std::string formatBudget(int64_t bytes) {
  ByteUnit unit = unitOf(bytes);
  return fmt::format("{:.2f} {}", std::ceil(unit.of(bytes) * 100) / 100, unit.name);
}

std::string formatSeconds(double seconds) {
  if (seconds >= 10)
    return fmt::format("{:.1f} s", seconds);
  if (seconds > 0 && seconds < 1e-6)
    return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3)
    return fmt::format("{:.3g} us", seconds * 1e6);
  return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 1 : 0);
}

std::string formatCount(double count) {
  if (count >= 1e6)
    return fmt::format("{:.2f}M", count / 1e6);
  return count >= 1e4 ? fmt::format("{:.0f}k", count / 1e3) : fmt::format("{:.1f}", count);
}

std::string formatThousands(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string countOf(int64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

} // namespace accum::planner
