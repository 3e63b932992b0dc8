// SPDX-License-Identifier: Apache-2.0
// What the text of an option may be. A complaint says what is wrong with it, and is empty where nothing is.
#ifndef ACCUM_RUNTIME_OPTIONS_OPTIONTEXT_H
#define ACCUM_RUNTIME_OPTIONS_OPTIONTEXT_H

#include "runtime/accum_runtime.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accum::runtime {

/// A whole number from `least` on, or to `most`, of at most 18 digits.
std::string wholeComplaint(const std::string &text, int64_t least, int64_t most = INT64_MAX);

/// Any number but NaN, which no option means.
std::string numberComplaint(const std::string &text);

/// What a number may be.
enum class NumberRange { Any, NotNegative, Positive, Fraction /* [0, 1) */ };
bool isIn(NumberRange range, double value);
/// "a number above 0"
const char *describe(NumberRange range);

/// Empty is what an unset variable of a script leaves.
std::string emptyComplaint(const std::string &text);

/// A number, NaN among them, with nothing after it.
std::optional<double> numberIn(const std::string &text);

/// Of `11h30m`, `90m`, `45s`, `2d`, or plain seconds; nothing where it is none of these.
std::optional<double> secondsIn(const std::string &text);

/// Steps, or seconds; the other one is 0.
struct Interval {
  uint64_t steps = 0;
  double seconds = 0;
};
/// A number of steps above 0, or a time with a unit; nothing where it is neither.
std::optional<Interval> intervalIn(const std::string &text);

/// Values as texts that are read as the same values.
std::string textOf(double value);
inline std::string textOf(bool value) { return value ? "true" : "false"; }
inline std::string textOf(uint64_t value) { return std::to_string(value); }
inline std::string textOf(int64_t value) { return std::to_string(value); }
inline std::string textOf(int value) { return std::to_string(value); }
inline std::string textOf(const std::string &value) { return value; }
std::string textOf(const std::vector<std::string> &values);
template <typename Value> std::string textOf(const std::optional<Value> &value) {
  return value ? textOf(*value) : "";
}

/// `0:64,1000:256`; nothing where it is not of that form. Whether it is a schedule is the session's to say.
std::optional<std::vector<accum_batch_change>> batchesIn(const std::string &text);

} // namespace accum::runtime
#endif
