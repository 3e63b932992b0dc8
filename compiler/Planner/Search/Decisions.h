// SPDX-License-Identifier: Apache-2.0
// The decisions of the search: recomputation and variant of each command; identical layers share one.
#pragma once
#include "compiler/Planner/Search/CheckpointCut.h"
#include "compiler/Planner/Search/RepeatedWindows.h"
#include <functional>
#include <optional>
#include <random>

namespace accum::planner {

class Decisions {
public:
  using Visit = std::function<void(const Choice &)>;

  /// `recompute`: whether any command may be recomputed.
  Decisions(const Problem &problem, const Recomputation &flow, bool recompute);

  Choice none() const;
  /// Choices there are, each command for itself; anything above `limit` where there are more.
  int64_t combinations(int64_t limit) const;
  void forAll(const Visit &visit) const;

  /// Commands that may be recomputed, by their place in the repeated windows.
  const std::vector<DecisionClass> &classes() const { return repeatable; }
  /// `start` with the recomputation of each class given.
  Choice with(const Choice &start, const std::vector<char> &again) const;
  /// Every command of the repeated windows runs again, except those that make what crosses from one group of
  /// `windows` windows to the next. Nothing where no windows repeat.
  std::optional<Choice> checkpoints(const Choice &start, int windows) const;
  /// Nothing recomputed, each combination of variants by class (the first few, where there are many).
  void forVariants(const Visit &visit) const;
  /// Visits all choices that differ from `start` in one class, or, with `single`, in one command, until
  /// `isOver`. A visit may change what `start` refers to: later neighbours are those of the new choice.
  void forNeighbours(const Choice &start, bool single, const Visit &visit,
                     const std::function<bool()> &isOver) const;
  /// The first units (windows, or commands outside of any) as in `more`, the rest as in `less`; about `count`
  /// of them, evenly spread.
  void forMixtures(const Choice &less, const Choice &more, int64_t count, const Visit &visit) const;
  /// One to four commands, or runs of neighbouring windows of theirs, decided otherwise at random.
  Choice disturbed(const Choice &start, std::mt19937_64 &random) const;
  /// One to three of `commands`, which may all be recomputed, or of runs of windows around them, decided
  /// otherwise at random.
  Choice disturbedAt(const Choice &start, const std::vector<int> &commands, std::mt19937_64 &random) const;

private:
  std::vector<DecisionClass> classesOf(const std::function<bool(int)> &takes) const;
  Choice withVariant(const Choice &start, const DecisionClass &entry, int variant) const;

  const Problem &problem;
  const Recomputation &flow;
  std::vector<WindowRun> runs;
  std::vector<int> unitOf; ///< per command, the first command of its window, or itself
  std::vector<DecisionClass> repeatable, varied;
  std::vector<std::pair<int, size_t>> placeOf; ///< per command that may run again: its class, the place in it
};

} // namespace accum::planner
