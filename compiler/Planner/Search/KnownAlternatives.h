// SPDX-License-Identifier: Apache-2.0
// What searches of one problem on one profile have found out, for those that ask the same again.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include <memory>

namespace accum::planner {

/// Alternatives follow from neither the budget nor how the state is shared: searches for another budget, or
/// of more ways to share, have them already.
class KnownAlternatives {
public:
  /// As `findAlternatives`, which is asked where no search was for so many devices and the same sizes and
  /// `recompute`. What a deadline cut short is not kept.
  std::shared_ptr<const Alternatives> find(const Problem &problem, const TimeModel &times, int64_t devices,
                                           int64_t smallest, int64_t largest, bool recompute,
                                           const AlternativeEffort &effort);

private:
  struct Entry {
    int64_t devices, smallest, largest;
    bool recompute;
    std::shared_ptr<const Alternatives> found;
  };
  std::vector<Entry> entries;
};

} // namespace accum::planner
