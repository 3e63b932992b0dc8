// SPDX-License-Identifier: Apache-2.0
// Bytes, times and rates as people read and write them.
#pragma once
#include "compiler/Planner/Problem/Result.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace accum::planner {

/// `16GiB`, `512MiB`, `16G`, `40GB`, `4096`: bytes, positive. Fractions are allowed before a unit. Slug
/// `usage`.
Result<int64_t> parseBytes(const std::string &text);

/// Why a flag's text is no whole number from 1 to 10^15 - 1; empty where it is one.
std::string countComplaint(const std::string &text);

std::string formatBudget(int64_t bytes);     ///< `25.31 GiB`: never less, so that --memory with it is enough
std::string formatSeconds(double seconds);   ///< `498 ms`, `1.7 ms`, `12.3 s`, `85 us`
std::string formatCount(double count);       ///< `2.11M`, `950k`, `12.0`
std::string formatThousands(int64_t number); ///< `1,024`

/// `1 sample`, `2 samples`: a number of what is named in the singular.
std::string countOf(int64_t number, std::string_view thing);

} // namespace accum::planner
