// SPDX-License-Identifier: Apache-2.0
#include "compiler/Planner/Search/KnownAlternatives.h"

namespace accum::planner {

std::shared_ptr<const Alternatives> KnownAlternatives::find(const Problem &problem, const TimeModel &times,
                                                            int64_t devices, int64_t smallest,
                                                            int64_t largest, bool recompute,
                                                            const AlternativeEffort &effort) {
  for (const Entry &entry : entries)
    if (entry.devices == devices && entry.smallest == smallest && entry.largest == largest &&
        entry.recompute == recompute)
      return entry.found;
  auto found = std::make_shared<const Alternatives>(
      findAlternatives(problem, times, smallest, largest, recompute, effort));
  if (!effort.deadline.hasPassed())
    entries.push_back({devices, smallest, largest, recompute, found});
  return found;
}

} // namespace accum::planner
