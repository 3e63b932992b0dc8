// SPDX-License-Identifier: Apache-2.0
// A counting sort.
#include "compiler/Planner/Search/RunningOrder.h"

namespace accum::planner {

RunningOrder::RunningOrder(const Recomputation &flow, const std::vector<int> &before)
    : original(before.size()), clone(before.size(), kNoIndex), end(before.size()) {
  struct Ahead {
    int clones = 0, beside = 0; ///< how many, then the place of the next
  };
  std::vector<Ahead> ahead(before.size());
  auto slotOf = [&](size_t index) -> int & {
    int at = before[index];
    return flow.runsBeside(before, static_cast<int>(index)) ? ahead[at - 1].beside : ahead[at].clones;
  };
  for (size_t index = 0; index < before.size(); ++index)
    if (before[index] != kNoIndex)
      ++slotOf(index);
  for (size_t index = 0; index < before.size(); ++index) {
    length += ahead[index].clones;
    ahead[index].clones = length - ahead[index].clones;
    original[index] = length++;
    length += ahead[index].beside;
    ahead[index].beside = length - ahead[index].beside;
    end[index] = length;
  }
  for (size_t index = 0; index < before.size(); ++index)
    if (before[index] != kNoIndex)
      clone[index] = slotOf(index)++;
}

} // namespace accum::planner
