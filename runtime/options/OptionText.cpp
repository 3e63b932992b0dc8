// SPDX-License-Identifier: Apache-2.0
// Numbers, times and pairs in the text of an option.
#include "runtime/options/OptionText.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace accum::runtime {
namespace {

/// At most 18 digits, which a number always holds.
bool isCount(const std::string &text) {
  return !text.empty() && text.size() < 19 && std::ranges::all_of(text, isdigit);
}

/// A whole number, which is taken off the front of `text`.
std::optional<int64_t> leadingNumber(std::string_view &text) {
  int64_t number = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 0 || end == text.data())
    return std::nullopt;
  text.remove_prefix(size_t(end - text.data()));
  return number;
}

} // namespace

std::string wholeComplaint(const std::string &text, int64_t least, int64_t most) {
  if (isCount(text) && std::stoll(text) >= least && std::stoll(text) <= most)
    return "";
  return "`" + text + "` is not a whole number from " + std::to_string(least) +
         (most == INT64_MAX ? " on" : " to " + std::to_string(most));
}

std::optional<double> numberIn(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? std::optional(value) : std::nullopt;
}

std::string numberComplaint(const std::string &text) {
  auto value = numberIn(text);
  return value && !std::isnan(*value) ? "" : "`" + text + "` is not a number";
}

bool isIn(NumberRange range, double value) {
  bool isEnough = range == NumberRange::Positive ? value > 0 : value >= 0;
  return range == NumberRange::Any ||
         (std::isfinite(value) && isEnough && (range != NumberRange::Fraction || value < 1));
}

const char *describe(NumberRange range) {
  return range == NumberRange::Any        ? "a number"
         : range == NumberRange::Positive ? "a number above 0"
         : range == NumberRange::Fraction ? "a number in [0, 1)"
                                          : "a number that is not negative";
}

std::string emptyComplaint(const std::string &text) { return text.empty() ? "nothing names no file" : ""; }

std::optional<double> secondsIn(const std::string &text) {
  double sum = 0;
  const char *at = text.c_str();
  while (*at != '\0') {
    char *end = nullptr;
    double value = std::isdigit(static_cast<unsigned char>(*at)) != 0 ? std::strtod(at, &end) : NAN;
    if (!std::isfinite(value))
      return std::nullopt;
    constexpr std::pair<char, double> kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}, {'\0', 1}};
    auto unit = std::ranges::find(kUnits, *end, &std::pair<char, double>::first);
    if (unit == std::end(kUnits))
      return std::nullopt;
    sum += value * unit->second;
    at = *end == '\0' ? end : end + 1;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<Interval> intervalIn(const std::string &text) {
  bool isSteps = isCount(text);
  Interval interval{isSteps ? std::stoull(text) : 0, isSteps ? 0 : secondsIn(text).value_or(0)};
  return interval.steps > 0 || interval.seconds > 0 ? std::optional(interval) : std::nullopt;
}

std::string textOf(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string textOf(const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += (text.empty() ? "" : "\n") + value;
  return text;
}

std::optional<std::vector<accum_batch_change>> batchesIn(const std::string &text) {
  std::vector<accum_batch_change> changes;
  for (std::string_view rest = text;; rest.remove_prefix(1)) {
    auto step = leadingNumber(rest);
    bool isPair = step && rest.starts_with(':');
    rest.remove_prefix(isPair ? 1 : 0);
    auto batch = isPair ? leadingNumber(rest) : std::nullopt;
    if (!batch || (!rest.empty() && !rest.starts_with(',')))
      return std::nullopt;
    changes.push_back({uint64_t(*step), *batch});
    if (rest.empty())
      return changes;
  }
}

} // namespace accum::runtime
