// SPDX-License-Identifier: Apache-2.0
// Checks of the text behind a flag.
#include "tools/accum-run/OptionText.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace accum::run {

runtime::Error usage(std::string message) {
  message[0] = char(std::tolower(message[0])); // CLI11 starts some of its sentences with a capital
  return {runtime::kExitUsage, message, "usage", {"accum-run --help"}};
}

CLI::Validator wholeNumber(int64_t least, int64_t most) {
  auto check = [least, most](std::string &text) -> std::string {
    bool digits = !text.empty() && text.size() < 19 && std::all_of(text.begin(), text.end(), isdigit);
    if (digits && std::stoll(text) >= least && std::stoll(text) <= most)
      return "";
    return "`" + text + "` is not a whole number from " + std::to_string(least) +
           (most == INT64_MAX ? " on" : " to " + std::to_string(most));
  };
  return CLI::Validator(check, "N");
}

std::string number(const std::string &text) {
  char *end = nullptr;
  bool isNumber = !text.empty() && !std::isnan(std::strtod(text.c_str(), &end)) && *end == '\0';
  return isNumber ? "" : "`" + text + "` is not a number";
}

std::string notEmpty(const std::string &text) { return text.empty() ? "nothing names no file" : ""; }

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

} // namespace accum::run
