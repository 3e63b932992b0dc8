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
  int recomputed = 0; ///< commands that are recomputed
  PeakCurve peak = {};
  /// Commands whose time it adds to the micro-step, or takes from it: cost class -> how often.
  std::vector<std::pair<int, int>> costs = {};
};

/// How long to search. Counted and not timed, so that a problem has the same alternatives on every machine.
struct AlternativeEffort {
  int64_t visits = 4'000'000; ///< commands and buffers looked at
  /// All choices are compared where they are at most so many, and looking at them all takes no more visits.
  int64_t exact = 4096;
  Deadline deadline = {}; ///< ends the search with what it has found
};

/// The sets of recomputed commands and variants that plans are chosen from. They do not depend on the budget,
/// so that more memory never leads to a slower plan.
struct Alternatives {
  std::vector<Alternative> list = {}; ///< the default first
  /// A command and variant that stand for each cost class.
  std::vector<std::pair<int, int>> costClasses = {};
  bool isComplete = false; ///< all possible choices were evaluated

  /// Seconds that each alternative adds to one micro-step of m samples.
  std::vector<double> addedSeconds(const TimeModel &times, int64_t m) const;
  /// Keeps the Pareto fronts of time and peak at sizes from the smallest to the largest. While fewer than
  /// `enough` are kept, the fronts of the remaining ones are added: peaks are lower bounds, and an
  /// alternative that packs worse than its bound must not hide a better one.
  void keepUseful(const TimeModel &times, int64_t smallest, int64_t largest, size_t enough);
  /// Adds those of `more` that are on a Pareto front of both, at the same sizes.
  void addUseful(std::vector<Alternative> more, const TimeModel &times, int64_t smallest, int64_t largest);
  /// Adds those of another search of the same problem, which may have other cost classes.
  void join(const Alternatives &other, const TimeModel &times, int64_t smallest, int64_t largest);
  /// Of each cost class.
  std::vector<RegionTime> classTimes(const TimeModel &times, int64_t m) const;
};

/// For micro-batch sizes from `smallest` to `largest`. `recompute`: whether commands may be recomputed.
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

/// Alternatives depend neither on the budget nor on the sharding mode, so searches share them.
class AlternativeCache {
public:
  /// The result of `findAlternatives` for the same devices, sizes and `recompute`, computed once. Results
  /// that a deadline cut short are not kept.
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
