// SPDX-License-Identifier: Apache-2.0
// The choices of recomputation and variants that the search compares, at every micro-batch size alike.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Search/LoadModel.h"
#include "compiler/Planner/Time/TimeModel.h"
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace accum::planner {

struct Alternative {
  Choice choice = {};
  int recomputed = 0; ///< commands that run again
  PeakCurve peak = {};
  /// Commands whose time it adds to the micro-step, or takes from it: cost class -> how often.
  std::vector<std::pair<int, int>> costs = {};
};

/// How far to look. Counts and not seconds, so that the same problem gives the same alternatives anywhere.
struct AlternativeEffort {
  int64_t visits = 4'000'000; ///< commands and buffers looked at
  /// All choices are compared where they are at most so many, and looking at them all takes no more visits.
  int64_t exact = 4096;
  Deadline deadline = {}; ///< from then on what is known is all there is
};

/// What a search looks at besides the default: no budget enters, so that the same alternatives are there
/// whatever the budget, and more memory never leads to a slower plan.
struct Alternatives {
  std::vector<Alternative> list = {}; ///< the default first
  /// A command and variant that stand for each cost class.
  std::vector<std::pair<int, int>> costClasses = {};
  bool isComplete = false; ///< every choice there is was looked at

  /// Seconds that each alternative adds to one micro-step of m samples.
  std::vector<double> addedSeconds(const TimeModel &times, int64_t m) const;
  /// Drops what is never best, looking at sizes from the smallest to the largest. As long as fewer than
  /// `enough` are left, what is best among the others stays too, and so on: peaks are bounds, and what packs
  /// worse than its bound says hides no other.
  void keepUseful(const TimeModel &times, int64_t smallest, int64_t largest, size_t enough);
  /// Adds those of `more` that are the fastest somewhere, looking at the same sizes: at a peak that none of
  /// the list has, or faster than it.
  void addUseful(std::vector<Alternative> more, const TimeModel &times, int64_t smallest, int64_t largest);
  /// The same with what another search of the problem found, whose cost classes may be others.
  void join(const Alternatives &other, const TimeModel &times, int64_t smallest, int64_t largest);
  /// Of each cost class.
  std::vector<RegionTime> classTimes(const TimeModel &times, int64_t m) const;
};

/// Sizes `smallest` to `largest` will be asked for. `recompute`: whether commands may run again.
Alternatives findAlternatives(const Problem &problem, const TimeModel &times, int64_t smallest,
                              int64_t largest, bool recompute, const AlternativeEffort &effort = {});

struct CostClasses {
  /// Per command and variant. Empty where its time is never asked for.
  std::vector<std::vector<int>> of = {};
  /// A command and variant that stand for each class.
  std::vector<std::pair<int, int>> stands = {};
};

/// Of commands with several variants, and of those that `matter` besides.
CostClasses classifyCosts(const Problem &problem, const std::function<bool(int)> &matters);

/// Alternatives follow from neither the budget nor how the state is shared: searches for another budget, or
/// of more ways to share, have them already.
class AlternativeCache {
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
