// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of a step: library calls by measured tables where the profile has one, kernels by what
// their operations cost or by memory traffic, everything else by rates.
#pragma once
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include <array>
#include <vector>

namespace accum::planner {

/// Where a predicted time comes from.
enum class TimeSource : uint8_t { Table, Costs, Rates };

/// Seconds of one pass over a phase's commands.
struct RegionTime {
  double total = 0;
  double launch = 0; ///< the part that is launches
  double memory = 0; ///< the part in commands that wait for memory
  double again = 0;  ///< the part in recomputed commands
};

/// Commands of one kernel or call: `count` of them run `runs` times a step.
struct CommandTime {
  std::string kernel = {};
  std::string call = {}; ///< at this m: `gemm-nt 1x512x768x3072`; empty for a kernel
  int phase = usual::kMicro;
  Phase inPhase = {}; ///< that phase
  int64_t count = 0, runs = 0;
  double seconds = 0; ///< of one run, in the mean of all
  TimeSource source = TimeSource::Rates;
  double bytes = 0;    ///< moved by one run
  double farBytes = 0; ///< of them, activations that a cache no longer holds
  std::vector<std::pair<std::string, double>> work = {}; ///< elements by operation, of one run
};

/// What runs alongside the commands of a step. Alternatives count with the values of the default, although
/// their recomputed commands would hide more.
struct Concurrent {
  std::optional<Overlap> sums = {};
  std::optional<TimeLine> feed = {};
  std::optional<UnitTraffic> units = {}; ///< of one micro-step
};

class TimeModel {
public:
  TimeModel(const Problem &problem, const DeviceProfile &profile, int64_t devices);

  /// One run of a command with m samples, in its first variant.
  RegionTime command(size_t index, int64_t m) const {
    const Command &which = problem.commands[index];
    bool isPartOfOther = which.tail && which.cloneOf < 0;
    return isPartOfOther ? RegionTime() : time(index, 0, m);
  }
  /// Seconds of a copy over the link to the memory of the host, and of as much traffic to the device's own.
  double overLink(double bytes) const { return profile.launch + bytes / profile.hostLinkBandwidth; }
  double throughMemory(double bytes) const { return bytes / (profile.bandwidth * share); }
  /// Its seconds by itself, in another variant.
  double seconds(int command, int variant, int64_t m) const { return alone(command, variant, m).total; }
  RegionTime alone(int command, int variant, int64_t m) const {
    return time(static_cast<size_t>(command), static_cast<size_t>(variant), m);
  }
  /// One iteration of each phase at m, commands in their first variant.
  std::vector<RegionTime> regions(int64_t m) const;
  /// Of these the main loop's.
  RegionTime mainLoop(const std::vector<RegionTime> &times) const {
    int main = problem.mainPhase();
    return main == kNoIndex ? RegionTime() : times[main];
  }
  /// Named parts of a whole step, which sum to its time. `concurrent` is that of this problem, or of the
  /// problem that this one was expanded from.
  std::vector<TimeLine> step(const Cut &cut, const Sharing &sharing = {}) const {
    return step(cut, sharing, concurrent(cut, sharing));
  }
  std::vector<TimeLine> step(const Cut &cut, const Sharing &sharing, const Concurrent &concurrent) const {
    return step(cut, sharing, concurrent, regions(cut.m));
  }
  /// `times` are `regions(cut.m)`, which callers compute once.
  std::vector<TimeLine> step(const Cut &cut, const Sharing &sharing, const Concurrent &concurrent,
                             const std::vector<RegionTime> &times) const;
  Concurrent concurrent(const Cut &cut, const Sharing &sharing, const UnitRoom &room = {}) const {
    Concurrent all = concurrent(cut, regions(cut.m));
    all.units = unitsAt(cut.m, sharing, room);
    return all;
  }
  /// Without the units of a sharding mode, which are `unitsAt`.
  Concurrent concurrent(const Cut &cut, const std::vector<RegionTime> &times) const;
  /// Transfers of units in a micro-step, with `room` for them or as much as they take at least. Nothing where
  /// there are none, or the problem does not say which commands use them. Not thread-safe.
  std::optional<UnitTraffic> unitsAt(int64_t m, const Sharing &sharing, const UnitRoom &room = {}) const;
  /// The all-reduce of gradients, where it starts in the last micro-step: bucket by bucket
  /// (GradientBuckets.h), each after it is final and the one before it is reduced, the rest at the end.
  /// Nothing where it does not start early, or the problem does not say when gradients are final.
  std::optional<Overlap> overlapOf(const Cut &cut) const;
  /// A whole step's commands, equal ones together, the longest first.
  std::vector<CommandTime> commands(const Cut &cut) const;
  /// Matrix flops of `samples` samples over what the device peaks at in `seconds`; 0 where there are none.
  double utilisation(int64_t samples, double seconds) const;

private:
  RegionTime time(size_t index, size_t variant, int64_t m) const;
  double copying(int64_t m) const; ///< of what runs once, seconds that copy weights

  struct Rated {
    double flopsPerSecond;
    bool matrix;
    double peak;
    std::array<double, 3> halfAt = {};
  };
  struct Time {
    double compute = 0, memory = 0;
    double launch = 0; ///< a table's times have it in them
    TimeSource source = TimeSource::Rates;
    double total() const { return (compute > memory ? compute : memory) + launch; }
  };

  static RegionTime waiting(const Time &time);
  double tableSeconds(const TimeTable &table, const CallShape &call, int64_t m, int64_t pieces,
                      double missing) const;
  Time timeOf(size_t index, const Variant &variant, int64_t m, int64_t pieces, double missing) const;
  double farBytes(size_t index, const Variant &way, int64_t m) const;
  double fetching(size_t index, const Variant &way, int64_t m) const;

  const Problem &problem;
  const DeviceProfile &profile;
  int64_t devices;
  double share;          ///< of the machine's rates that one device has
  double touched;        ///< bytes of weights and gradients, all of which a micro-step touches
  double missed;         ///< of weights and gradients, what comes from memory each time
  double missedInSlices; ///< the same of those of a group in slices, from its second slice on
  double callFetch = 0, kernelFetch = 0; ///< what a byte costs more that comes from memory, in seconds
  std::vector<Rated> rates;              ///< per command
  int64_t copies;                        ///< `copiedBytes` of the problem
  struct KnownTimeline {
    UnitUse use;
    UnitRoom room;
    std::optional<UnitTimeline> timeline;
  };
  mutable std::vector<KnownTimeline> timelines; ///< those that were asked for
};

const char *toText(TimeSource source); ///< `table`, `costs`, `rates`

} // namespace accum::planner
