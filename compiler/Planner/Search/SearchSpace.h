// SPDX-License-Identifier: Apache-2.0
// The space of plans: every micro-batch size with every alternative in every way to share the state, timed
// and bounded, packed on demand.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include <deque>
#include <optional>

namespace accum::planner {

class SearchSpace {
public:
  SearchSpace(const Problem &problem, const DeviceProfile &profile, const Options &options,
              const TimeModel &times);

  /// Times and loads of all. `ways` is not empty.
  void measure(const Cuts &cuts, const std::vector<Sharing> &ways);

  // --- a point is an index: size by size, alternative by alternative, way by way ---
  int count() const { return static_cast<int>(usable.size()); }
  int sizeOf(int point) const { return point / (alternativeCount() * wayCount()); }
  int alternativeOf(int point) const { return point / wayCount() % alternativeCount(); }
  int wayOf(int point) const { return point % wayCount(); }
  int sizeCount() const { return static_cast<int>(sizes.size()); }
  /// The first point of a size; those of one size stand side by side.
  int begin(int size) const { return size * alternativeCount() * wayCount(); }
  /// The same size and way with everything in its default.
  int plain(int point) const { return begin(sizeOf(point)) + wayOf(point); }

  const Cut &cut(int point) const { return sizes[sizeOf(point)].cut; }
  /// Of the micro-steps with everything in its default.
  const RegionTime &micro(int point) const { return sizes[sizeOf(point)].micro; }
  const Alternative &alternative(int point) const { return alternatives->list[alternativeOf(point)]; }
  const Sharing &sharing(int point) const { return ways[wayOf(point)]; }
  const Problem &asked() const { return problem; }
  /// Whether any command may treat a few samples at a time.
  bool haveSlices() const { return sliced; }
  double seconds(int point) const;
  /// Seconds that a micro-step waits longer for units than with everything in its default, of all points that
  /// hold parameters as `point` does: what that one repeats, it gathers again.
  void countAgain(int point);
  /// Of no point.
  void forgetAgain() { again.assign(ways.size(), 0); }
  /// Predicted picoseconds: what times are compared by.
  int64_t ticks(int point) const;
  int64_t scratch(int point) const { return loadOf(point).scratch; }
  int64_t lowerBound(int point) const { return loadOf(point).lowerBound; }
  bool isPacked(int point) const { return loadOf(point).packed; }
  int64_t state(int point) const { return sizes[sizeOf(point)].ways[wayOf(point)].state; }
  /// Everything that comes out of the budget.
  int64_t counted(int point) const {
    return sizes[sizeOf(point)].ways[wayOf(point)].counted + scratch(point);
  }
  /// Whether the options leave it among those of its size.
  bool isUsable(int point) const { return usable[point] != 0; }
  /// Whether it may be the plan.
  bool isAllowed(int point) const {
    return isUsable(point) && (!options.requireDivisible || cut(point).last == cut(point).m);
  }

  /// Replaces the bound by a real packing.
  Packing pack(int point);
  /// Of the way that the state is shared.
  const std::vector<FixedMemory> &fixedMemory(int point) const { return fixed[wayOf(point)]; }
  /// What runs.
  const Problem &runs(int point) { return expandedOf(point).problem; }
  Layout layout(int point);
  /// The usable point of a size that needs least.
  int least(int size) const;
  /// The usable point that stands for its size: the fastest that fits, else the one that needs least.
  int representative(int size, int64_t budget) const;

private:
  struct Load {
    int64_t scratch = 0; ///< near the lower bound until it is packed
    int64_t lowerBound = 0;
    double added = 0; ///< seconds of a step
    bool packed = false;
  };
  struct Way {
    int64_t state = 0, counted = 0; ///< fixed bytes
    double seconds = 0;             ///< a whole step, everything in its default
  };
  struct Size {
    Cut cut = {};
    RegionTime micro = {};
    std::vector<Way> ways = {};
  };
  /// An alternative as the problem that runs.
  struct Expanded {
    Expanded(const Problem &asked, const Choice &choice)
        : problem(expand(asked, choice)), lifetimes(problem) {}
    Problem problem;
    Lifetimes lifetimes;
  };

  int alternativeCount() const { return taken; }
  int wayCount() const { return static_cast<int>(ways.size()); }
  int kindCount() const { return static_cast<int>(kinds.size()); }
  int loadIndex(int point) const { return point / wayCount() * kindCount() + kindOfWay[wayOf(point)]; }
  Load &loadOf(int point) { return loads[loadIndex(point)]; }
  const Load &loadOf(int point) const { return loads[loadIndex(point)]; }
  void findKinds();
  Size sizeAt(const Cut &cut) const;
  void restrict();
  std::shared_ptr<const Alternatives> alternativesFor(const Cuts &cuts) const;
  const Expanded &expandedOf(int point);

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  const TimeModel &times;
  bool sliced;
  std::vector<Sharing> ways;
  std::vector<std::vector<FixedMemory>> fixed; ///< per way
  std::vector<double> again;                   ///< per way, of a micro-step
  /// Ways differ in what they hold of copies of weights; where there are none, all are of one kind.
  std::vector<int> kindOfWay;
  std::deque<Problem> shared;         ///< what some kinds run instead of the problem
  std::vector<const Problem *> kinds; ///< per kind, as a device runs it
  std::shared_ptr<const Alternatives> alternatives;
  int taken = 0;           ///< of them, those that are compared
  std::vector<Size> sizes; ///< largest m first
  std::vector<Load> loads; ///< per size, alternative and kind of way
  std::vector<char> usable;
  std::optional<Expanded> expanded;                         ///< the last one asked for
  std::pair<int, int> expandedIndex = {kNoIndex, kNoIndex}; ///< its alternative and kind
};

} // namespace accum::planner
