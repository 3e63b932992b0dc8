// SPDX-License-Identifier: Apache-2.0
// The ranges of a problem's amounts over the sizes that a search looks at.
#include "compiler/Planner/Problem/Problem.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner {

namespace {

/// No sum of sizes may exceed this, alignment included.
constexpr int64_t kTotalLimit = int64_t{1} << 61;
/// What alignment may add to each size.
constexpr int64_t kLargestAlignment = int64_t{1} << 20;

/// Sums the largest values of amounts, and remembers the first that is out of range.
class RangeCheck {
public:
  explicit RangeCheck(int64_t largest) : largest(largest) {}

  template <class Name> void add(const Amount &amount, const Name &name) {
    int64_t value = amount.table.empty() ? amount.at(largest) : 0;
    for (auto [m, bytes] : amount.table)
      value = std::max(value, bytes);
    if (value > kAmountLimit && tooLarge.empty())
      tooLarge = name();
    sum += __int128{2} * (value + kLargestAlignment); // once more where its command runs again
  }

  Status result() const {
    if (tooLarge.empty() && sum <= kTotalLimit)
      return {};
    return Error{fmt::format("{} is larger than {} bytes at this batch",
                             tooLarge.empty() ? "the sum of all sizes" : tooLarge,
                             tooLarge.empty() ? "2^61" : "2^60"),
                 "malformed-problem"};
  }

private:
  int64_t largest;
  __int128 sum = 0;
  std::string tooLarge = {};
};

} // namespace

Status checkAmounts(const Problem &problem, int64_t smallest, int64_t largest) {
  RangeCheck range(largest);
  for (const Buffer &buffer : problem.buffers)
    range.add(buffer.bytes, [&] { return fmt::format("buffer {}", buffer.id); });
  for (const Command &command : problem.commands)
    for (const Variant &variant : command.variants) {
      range.add(variant.workspace, [&] { return fmt::format("the workspace of command {}", command.id); });
      for (const auto &[buffer, bytes] : variant.results)
        range.add(bytes, [&] { return fmt::format("buffer {}", problem.buffers[buffer].id); });
    }
  for (const FixedMemory &fixed : problem.fixed)
    range.add(fixed.bytes, [&] { return fmt::format("fixed memory `{}`", fixed.name); });
  if (Status status = range.result(); !status)
    return status;
  for (const Buffer &buffer : problem.buffers)
    for (int64_t m : {smallest, largest})
      if (buffer.aliasOf != kNoIndex && buffer.bytes.at(m) > problem.buffers[buffer.aliasOf].bytes.at(m))
        return Error{fmt::format("buffer {}: the view is larger than {}, at m = {}", buffer.id,
                                 problem.buffers[buffer.aliasOf].id, m),
                     "malformed-problem"};
  return {};
}

} // namespace accum::planner
