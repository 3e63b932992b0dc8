// SPDX-License-Identifier: Apache-2.0
// The space of plans: every micro-batch size with every alternative in every mode of the state, timed and
// bounded, packed on demand.
#pragma once
#include "compiler/Planner/Search/Alternatives.h"
#include "compiler/Planner/Search/Storage.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include <deque>
#include <optional>

namespace accum::planner {

/// A sharding mode with memory for whole units.
struct Mode {
  Sharing sharing = {};
  UnitRoom room = {};
  bool operator==(const Mode &) const = default;
};

class SearchSpace {
public:
  SearchSpace(const Problem &problem, const DeviceProfile &profile, const Options &options,
              const TimeModel &times);

  /// Times and loads of all sizes and alternatives.
  void measure(const Cuts &cuts);
  /// Times and memory of a mode; modes that are equal have one number.
  int addMode(const Mode &mode);
  /// The modes that `forPoints`, `least` and `representative` range over.
  void consider(std::vector<int> numbers) { considered = std::move(numbers); }
  const std::vector<int> &consideredModes() const { return considered; }

  // --- a point is an index: mode by mode, size by size, alternative by alternative ---
  int sizeOf(int point) const { return point / alternativeCount() % sizeCount(); }
  int alternativeOf(int point) const { return point % alternativeCount(); }
  int modeOf(int point) const { return point / alternativeCount() / sizeCount(); }
  int sizeCount() const { return static_cast<int>(sizes.size()); }
  /// The same size and mode with everything in its default.
  int plain(int point) const { return point - alternativeOf(point); }
  template <class Visit> void forPoints(Visit visit) const {
    int count = sizeCount() * alternativeCount();
    for (int mode : considered)
      for (int point = mode * count; point < (mode + 1) * count; ++point)
        visit(point);
  }

  const Cut &cut(int point) const { return sizes[sizeOf(point)].cut; }
  /// Of the micro-steps with everything in its default.
  const RegionTime &micro(int point) const { return sizes[sizeOf(point)].micro; }
  const Alternative &alternative(int point) const { return alternatives->list[alternativeOf(point)]; }
  const Sharing &sharing(int point) const { return modes[modeOf(point)].mode.sharing; }
  /// Memory for units, in the state.
  const UnitRoom &room(int point) const { return modes[modeOf(point)].held; }
  /// As it was asked for, and as another program of the artifact needs it.
  UnitRoom askedRoom(int point) const {
    return modes[modeOf(point)].mode.room.atLeast({problem.gatheredElsewhere});
  }
  const Problem &asked() const { return problem; }
  /// Whether any command may treat a few samples at a time.
  bool haveSlices() const { return sliced; }
  double seconds(int point) const;
  /// Of them, what commands wait for units and for offloaded state.
  double secondsForUnits(int point) const;
  /// Adds to the time of all points that are considered what a micro-step of this point waits longer for
  /// units than one with everything in its default, since repeated commands gather units again.
  void addRepeatedGathers(int point);
  void forgetRepeatedGathers();
  /// Predicted picoseconds: what times are compared by.
  int64_t ticks(int point) const;
  int64_t scratch(int point) const { return loadOf(point).scratch; }
  int64_t lowerBound(int point) const { return loadOf(point).lowerBound; }
  bool isPacked(int point) const { return loadOf(point).packed; }
  int64_t state(int point) const { return fixedOf(point).state; }
  /// Everything that comes out of the budget.
  int64_t counted(int point) const { return fixedOf(point).counted + scratch(point); }
  /// And what was gone before the budget was measured.
  int64_t total(int point) const { return counted(point) + fixedOf(point).context; }
  /// Whether the options leave it among those of its size.
  bool isUsable(int point) const;
  /// Whether it may be the plan.
  bool isAllowed(int point) const {
    return isUsable(point) && (!options.requireDivisible || cut(point).last == cut(point).m);
  }

  /// Replaces the bound by a real packing.
  Packing pack(int point);
  const std::vector<FixedMemory> &fixedMemory(int point) const { return modes[modeOf(point)].lines; }
  /// What runs.
  const Problem &runs(int point) { return expandedOf(point).problem; }
  Layout layout(int point);
  /// The memory that units of the point take at least, and with which transfers overlap commands; nothing
  /// where it has no units, or the problem does not say which commands use them.
  std::optional<UnitRooms> unitRooms(int point);
  /// The usable point of a size that needs least.
  int least(int size) const;
  /// The usable point that stands for its size: the fastest that fits, else the one that needs least.
  int representative(int size, int64_t budget) const;

private:
  struct Load {
    int64_t scratch = 0; ///< near the lower bound until it is packed
    int64_t lowerBound = 0;
    bool packed = false;
  };
  struct Size {
    Cut cut = {};
    std::vector<RegionTime> regions = {}; ///< by phase
    RegionTime micro = {};                ///< of the main loop
    Concurrent concurrent = {};
    int64_t counted = 0, context = 0; ///< what the device keeps, and was gone before the budget was measured
  };
  /// A mode at a size, with everything in its default.
  struct Fixed {
    int64_t state = 0, counted = 0, context = 0; ///< bytes
    double seconds = 0, forUnits = 0;            ///< of a whole step
  };
  struct MeasuredMode {
    Mode mode;
    UnitRoom held; ///< in the state: what was asked for, or more where units take it
    std::vector<FixedMemory> lines;
    std::vector<Fixed> fixed; ///< by size
    size_t kind = 0;          ///< of memory for copies of weights
    double again = 0;         ///< seconds that a micro-step waits longer, as far as known
  };
  /// Modes differ in what they hold of copies of weights, and so in the loads of all points.
  struct Kind {
    const Problem *problem; ///< as a device runs it
    std::vector<Load> loads;
    std::vector<int> only; ///< by size: the alternative that the options leave; empty: all of them
  };
  /// An alternative as the problem that runs.
  struct Expanded {
    Expanded(const Problem &asked, const Choice &choice)
        : problem(expand(asked, choice)), lifetimes(problem) {}
    Problem problem;
    Lifetimes lifetimes;
  };

  int alternativeCount() const { return taken; }
  size_t loadIndex(int point) const { return static_cast<size_t>(point % (sizeCount() * taken)); }
  const Kind &kindOf(int point) const { return kinds[modes[modeOf(point)].kind]; }
  Load &loadOf(int point) { return kinds[modes[modeOf(point)].kind].loads[loadIndex(point)]; }
  const Load &loadOf(int point) const { return kindOf(point).loads[loadIndex(point)]; }
  const Fixed &fixedOf(int point) const { return modes[modeOf(point)].fixed[sizeOf(point)]; }
  size_t kindFor(const Sharing &sharing);
  Kind measureKind(const Problem &own) const;
  Size sizeAt(const Cut &cut) const;
  Fixed fixedAt(const MeasuredMode &measured, const Size &size) const;
  std::shared_ptr<const Alternatives> alternativesFor(const Cuts &cuts) const;
  const Expanded &expandedOf(int point);

  const Problem &problem;
  const DeviceProfile &profile;
  const Options &options;
  const TimeModel &times;
  bool sliced;
  std::shared_ptr<const Alternatives> alternatives;
  int taken = 0;                          ///< of them, those that are compared
  std::vector<Size> sizes;                ///< largest m first
  std::vector<std::vector<double>> added; ///< by size and alternative: seconds of a step
  std::vector<MeasuredMode> modes;
  std::vector<int> considered;
  std::deque<Problem> shared; ///< what some kinds run instead of the problem
  std::vector<Kind> kinds;
  std::optional<Expanded> expanded;                     ///< the last one asked for
  std::pair<int, size_t> expandedIndex = {kNoIndex, 0}; ///< its alternative and kind
};

} // namespace accum::planner
