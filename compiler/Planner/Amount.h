// SPDX-License-Identifier: Apache-2.0
// A number of bytes or flops as a function of the micro-batch size m: `fixed + perSample * m`, or a step
// table.
#pragma once
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
  int64_t at(int64_t m) const;
  /// Without a limit and rounded; of one of `pieces` parts of m samples.
  double real(int64_t m, int64_t pieces = 1) const;
  /// No negative coefficient, and the table (where there is one) as described above.
  bool isValid() const;
  bool isZero() const { return fixed == 0 && perSample == 0 && table.empty(); }
  bool operator==(const Amount &) const = default;
};

/// `12`, `8*m`, `12+8*m`, `table{1:0,8:4096}`: what the text form of a Problem holds.
std::string toText(const Amount &amount);

} // namespace accum::planner
