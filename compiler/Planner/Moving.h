// SPDX-License-Identifier: Apache-2.0
// Which values may wait in the memory of the host, when they go and come back, and what that takes.
#pragma once
#include "compiler/Planner/HostLink.h"
#include "compiler/Planner/RunningOrder.h"
#include "compiler/Planner/TimeModel.h"

namespace accum::planner {

/// What the time of a choice that moves values follows from, at any micro-batch size.
struct Itinerary {
  std::vector<int> classes = {}; ///< per place its class of costs; kNoIndex where nothing runs
  std::vector<std::pair<Amount, int>> sizes = {}; ///< of values that move, and of how many
  std::vector<int> sizeOf = {};                   ///< per value that moves
  LinkSchedule schedule = {};

  bool isEmpty() const { return sizeOf.empty(); }

  /// What waits in the memory of the host at most.
  int64_t bytesAt(int64_t m) const;
  /// Seconds that moving adds to a micro-step of m samples, of which commands of class c take classTimes[c].
  double seconds(const TimeModel &times, std::span<const RegionTime> classTimes, int64_t m) const;
};

/// Copies are placed such that nothing waits for them at the sizes from `smallest` to `largest`, as far as
/// times grow alike: a value stays until it has gone, and begins to come back early enough. So what moving
/// costs is mostly memory, for a while, and what does not fit the link is not moved.
class Moving {
public:
  Moving(const Problem &problem, const Recomputation &flow, const TimeModel &times, int64_t smallest,
         int64_t largest);

  /// Whether there is anything that may move.
  bool isPossible() const { return !values.empty(); }
  /// How many values may move in some choice.
  size_t count() const { return values.size(); }
  /// Those (buffers) that a choice keeps for the backward part, as they are made. `before`: where its
  /// repetitions stand.
  std::vector<int> kept(const Choice &choice, const std::vector<int> &before) const;
  /// The moves of a choice with their places set; those for which there is no time are left out. Unless
  /// `exact` they say how many bytes move, and those are what is made first.
  std::vector<Move> placed(const Choice &choice, const std::vector<int> &before, bool exact) const;
  /// `order`: with the moves of the choice. `classOf`: per command and variant, a class of costs.
  Itinerary itinerary(const Choice &choice, const std::vector<int> &before, const RunningOrder &order,
                      const std::vector<std::vector<int>> &classOf) const;

private:
  struct Timeline;
  /// One that may move.
  struct Value {
    int buffer = kNoIndex, producer = kNoIndex;
    int lastEarly = 0;            ///< the last of the producer and its users in the forward part
    int firstBackward = kNoIndex; ///< user
    Amount bytes = {};            ///< of a variant of the producer
    bool isSliced = false;
    double most = 0; ///< bytes at the largest size
    double link = 0; ///< seconds of a copy, per sample, the most there is
    int size = 0;    ///< into `sizes`
  };

  void describeCommands();
  Value valueOf(int buffer, int variant) const;
  /// As the choice makes it.
  const Value &valueIn(size_t index, const Choice &choice) const {
    return values[index][choice.variants[values[index].front().producer]];
  }
  std::vector<size_t> keptValues(const Choice &choice, const std::vector<int> &before) const;
  int firstRead(const Value &value, const RunningOrder &order) const;
  bool mayStandBefore(int command, const Choice &choice) const;

  const Problem &problem;
  const Recomputation &flow;
  const TimeModel &times;
  int64_t smallest, largest;
  std::vector<std::vector<Value>> values; ///< as they are made; per variant of the producer
  std::vector<int> indices;               ///< per buffer, into the values
  std::vector<Amount> sizes;              ///< of all values, each once
  std::vector<size_t> waysOf;         ///< per command, the first of its variants in `seconds`, and the end
  std::vector<double> seconds;        ///< per sample, the least there is
  std::vector<char> isTail, mayStand; ///< per command; copies may stand before it unless both are sliced
  std::vector<char> maySlice;         ///< per command: it and the one before have sliced variants
};

/// What moving adds to a micro-step: what waits for copies, and their traffic to the device's memory, of
/// which as much counts as the commands beside it wait for memory themselves; and the link's time that is
/// hidden.
struct MovingTime {
  double exposed = 0, hidden = 0;
};
/// Of an expanded problem.
MovingTime movingTime(const Problem &expanded, const TimeModel &times, int64_t m);

} // namespace accum::planner
