// SPDX-License-Identifier: Apache-2.0
// A number of bytes or flops as a function of the micro-batch size m: `fixed + perSample * m`, or a step
// table.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accum::planner {

/// No amount may exceed this (2^60, an exbibyte): sums of eight of them still fit an int64_t.
inline constexpr int64_t kAmountLimit = int64_t{1} << 60;

struct Amount {
  int64_t fixed = 0;
  int64_t perSample = 0;
  /// Steps (m, value) in ascending m, the first at m = 1; each holds from its m up to the next one. Where it
  /// is not empty, `fixed` and `perSample` are 0. For what is not affine: library workspaces, two-stage
  /// reductions.
  std::vector<std::pair<int64_t, int64_t>> table = {};

  /// The value at m >= 1; saturates just above kAmountLimit, so that a caller can refuse it.
  int64_t at(int64_t m) const {
    if (!table.empty())
      return step(m);
    __int128 value = static_cast<__int128>(perSample) * m + fixed;
    return value > kAmountLimit ? kAmountLimit + 1 : static_cast<int64_t>(value);
  }
  /// Without a limit and rounded; of one of `pieces` parts of m samples.
  double real(int64_t m, int64_t pieces = 1) const {
    auto parts = static_cast<double>(pieces);
    if (!table.empty())
      return static_cast<double>(step(m)) / parts;
    return static_cast<double>(fixed) + static_cast<double>(perSample) * static_cast<double>(m) / parts;
  }
  /// No negative coefficient, and the table (where there is one) as described above.
  bool isValid() const;
  bool isZero() const { return fixed == 0 && perSample == 0 && table.empty(); }
  bool operator==(const Amount &) const = default;

private:
  int64_t step(int64_t m) const; ///< of the table
};

/// `12`, `8*m`, `12+8*m`, `table{1:0,8:4096}`: what the text form of a Problem holds.
std::string toText(const Amount &amount);

/// Of two that are not negative; just above kAmountLimit where it would be larger, so that a caller can
/// refuse it.
inline int64_t saturatedSum(int64_t a, int64_t b) {
  constexpr int64_t most = kAmountLimit + 1;
  return std::min(most, std::min(most, a) + std::min(most, b));
}

} // namespace accum::planner
