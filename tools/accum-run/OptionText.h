// SPDX-License-Identifier: Apache-2.0
// What the options of accum-run have in common: checks of their text, and the sentence for wrong usage.
#ifndef ACCUM_RUN_OPTIONTEXT_H
#define ACCUM_RUN_OPTIONTEXT_H

#include "runtime/system/Status.h"
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace accum::run {

/// Exit 2 with the sentence of the caller or of CLI11.
runtime::Error usage(std::string message);

/// A whole number from `least` on, or to `most`; CLI11 itself would wrap -1 around.
CLI::Validator wholeNumber(int64_t least, int64_t most = INT64_MAX);

/// Any number but NaN, which no option means. These return what is wrong, or nothing.
std::string number(const std::string &text);
/// What an unset variable of a script leaves.
std::string notEmpty(const std::string &text);

/// Of `11h30m`, `90m`, `45s`, `2d`, or plain seconds; nothing where it is none of these.
std::optional<double> secondsIn(const std::string &text);

} // namespace accum::run
#endif
