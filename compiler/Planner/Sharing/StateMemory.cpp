// SPDX-License-Identifier: Apache-2.0
// The state of a device in a sharding mode: parts of units, padding, and the memory for whole units.
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace accum::planner {

int64_t bytesOf(const Problem &problem, StateRole role) {
  int64_t sum = 0;
  for (const FixedMemory &line : problem.fixed)
    sum = saturatedSum(sum, line.role == role ? line.bytes.at(1) : 0);
  return sum;
}

namespace {

int64_t aligned(int64_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

int64_t partOf(int64_t bytes, int64_t devices) {
  return aligned(bytes / devices + (bytes % devices != 0 ? 1 : 0));
}

int64_t sumOf(const std::vector<Parameter> &parameters) {
  int64_t sum = 0;
  for (const Parameter &parameter : parameters)
    sum += parameter.bytes;
  return sum;
}

/// What a device has of each role of the state in a mode. The state has ranges of one size: parameters,
/// gradients, each slot of the optimizer. All are cut into the same units. A problem in a file may not say
/// its parameters; then a part is a part of a whole line.
class ShardedState {
public:
  ShardedState(const Problem &problem, const Sharing &sharing, int64_t devices)
      : problem(problem), sharing(sharing), devices(devices),
        units(unitsOf(problem.parameters, sharing.cutsParameters(devices), devices)),
        weights(bytesOf(problem, StateRole::Parameters)) {}

  bool isCut(StateRole role) const;
  bool isOffloaded(StateRole role) const;
  /// Bytes that a device has, in its memory or offloaded, of a line with so many bytes unsharded.
  int64_t held(StateRole role, int64_t bytes) const;
  /// Bytes that units take more than the lines and their alignment, or less: whole ranges are padded by
  /// units, and parts have their alignment in their own lines.
  int64_t padding() const;
  int64_t copies() const; ///< bytes of a device's parts of copies of weights
  int64_t staged() const; ///< bytes of the memory that offloaded state passes through

private:
  bool isKnown() const { return !problem.parameters.empty(); }

  const Problem &problem;
  const Sharing &sharing;
  int64_t devices;
  UnitLayout units;
  int64_t weights;
};

bool ShardedState::isCut(StateRole role) const {
  if (devices == 1)
    return false;
  switch (role) {
  case StateRole::Other:
    return false;
  case StateRole::Optimizer:
  case StateRole::Master:
    return sharing.shard >= Shard::Optimizer;
  case StateRole::Gradients:
    return sharing.shard >= Shard::Gradients && sharing.reduceEach;
  case StateRole::Parameters:
  case StateRole::Frozen:
    return sharing.shard >= Shard::Parameters;
  }
  return false;
}

bool ShardedState::isOffloaded(StateRole role) const {
  if (role == StateRole::Optimizer || role == StateRole::Master)
    return sharing.offload >= Offload::Optimizer;
  return (role == StateRole::Parameters || role == StateRole::Frozen) &&
         sharing.offload >= Offload::Parameters;
}

int64_t ShardedState::held(StateRole role, int64_t bytes) const {
  int64_t parts = isCut(role) ? devices : 1;
  if (parts == 1 && !isOffloaded(role))
    return bytes;
  if (role == StateRole::Frozen && !problem.frozen.empty())
    return unitsOf(problem.frozen, /*cutParameters=*/true, devices).allBytes() / parts;
  if (!isKnown() || weights == 0 || role == StateRole::Master)
    return partOf(bytes, parts);
  int64_t ranges = role == StateRole::Optimizer ? bytes / weights : 1;
  return std::max(partOf(bytes, parts), ranges * (units.allBytes() / parts));
}

int64_t ShardedState::padding() const {
  bool isPlain = sharing.offload == Offload::None && (sharing.shard == Shard::None || devices == 1);
  if (!isKnown() || isPlain)
    return 0;
  int64_t slots = weights == 0 ? 0 : bytesOf(problem, StateRole::Optimizer) / weights;
  int64_t more = -(sumOf(problem.parameters) - weights) * (1 + slots);
  if (sharing.gathersParameters(devices))
    more -= sumOf(problem.frozen) - bytesOf(problem, StateRole::Frozen);
  if (!isCut(StateRole::Parameters) && !isOffloaded(StateRole::Parameters))
    more += units.allBytes() - weights;
  if (!isCut(StateRole::Gradients))
    more += units.allBytes() - bytesOf(problem, StateRole::Gradients);
  return more;
}

int64_t ShardedState::copies() const {
  int64_t bytes = units.copyBytes();
  return bytes > 0 ? bytes / devices : partOf(copiedBytes(problem), devices);
}

/// Two pieces of each range.
int64_t ShardedState::staged() const {
  int64_t all = 0, places = 0;
  for (StateRole role : {StateRole::Optimizer, StateRole::Master, StateRole::Parameters})
    if (isOffloaded(role)) {
      int64_t bytes = bytesOf(problem, role);
      all = saturatedSum(all, held(role, bytes));
      places += weights == 0 ? 0 : (bytes + weights - 1) / weights;
    }
  if (weights == 0)
    return all;
  int64_t parts = sharing.shard == Shard::None ? 1 : devices, piece = 0, pieces = 0;
  if (!isKnown())
    piece = partOf(problem.largestParameter, parts);
  for (size_t unit = 0; unit < units.bytes.size(); ++unit) {
    piece = std::max(piece, units.bytes[unit] / parts / units.pieces[unit]);
    pieces += units.pieces[unit];
  }
  places *= isKnown() ? std::min<int64_t>(2, pieces) : 2;
  int64_t staged = piece > 0 && places > INT64_MAX / piece ? INT64_MAX : places * piece;
  return isKnown() ? staged : std::min(staged, all);
}

} // namespace

int64_t hostStateBytes(const Problem &problem, const Sharing &sharing, int64_t devices) {
  ShardedState state(problem, sharing, devices);
  int64_t sum = 0;
  for (const FixedMemory &line : problem.fixed)
    if (state.isOffloaded(line.role))
      sum = saturatedSum(sum, state.held(line.role, line.bytes.at(1)));
  return sum;
}

UnitMemory unitMemory(const Problem &problem, const Sharing &sharing, int64_t devices, const UnitRoom &room) {
  ShardedState state(problem, sharing, devices);
  bool gathers = sharing.gathersParameters(devices), scatters = sharing.scattersEach(devices);
  UnitMemory memory;
  if (copiedBytes(problem) > 0 && sharing.cutsParameters(devices))
    memory.copies = aligned(state.copies());
  if (gathers || scatters) {
    UnitRooms rooms{{2 * problem.largestParameter, 2 * problem.largestParameter}, {}, {}, {}};
    rooms = unitRooms(problem, unitUse(sharing, devices)).value_or(rooms);
    UnitRoom all = room.atLeast(rooms.onDemand).atLeast({problem.gatheredElsewhere});
    memory.room = {gathers ? aligned(all.gathered) : 0, scatters ? aligned(all.scattered) : 0};
  }
  if (sharing.offload != Offload::None && problem.wholeUpdate == 0) // else units pass through `room`
    memory.staged = aligned(state.staged());
  return memory;
}

std::vector<FixedMemory> sharedMemory(const Problem &problem, const Sharing &sharing, int64_t devices,
                                      const UnitMemory &units) {
  ShardedState state(problem, sharing, devices);
  std::vector<FixedMemory> lines;
  int64_t padding = state.padding();
  for (const FixedMemory &line : problem.fixed) {
    FixedMemory own = line;
    if (line.kind == FixedKind::State && line.name == kAlignmentLine)
      own.bytes.fixed += std::exchange(padding, 0);
    if (state.isCut(line.role)) {
      own.name += fmt::format(" / {}", devices);
      own.bytes = {state.held(line.role, line.bytes.at(1)), 0, {}};
    }
    if (!state.isOffloaded(line.role))
      lines.push_back(std::move(own));
  }
  if (padding > 0)
    lines.push_back({FixedKind::State, kAlignmentLine, {padding, 0, {}}});
  for (auto [name, bytes] : {std::pair(kCopiesLine, units.copies),
                             {kGatheredLine, units.room.gathered},
                             {kScatteredLine, units.room.scattered},
                             {kStagedLine, units.staged}})
    if (bytes > 0)
      lines.push_back({FixedKind::State, name, {bytes, 0, {}}});
  return lines;
}

} // namespace accum::planner
