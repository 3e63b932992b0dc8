// SPDX-License-Identifier: Apache-2.0
// Sharding and offload: the modes, the memory that they take and the time of what they send.
#pragma once
#include "base/Sharding.h"
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Time/UnitTraffic.h"
#include <optional>

namespace accum::planner {

/// Memory of the kinds that the mode has holds what units need.
inline bool isEnough(const Sharing &sharing, const UnitRoom &has, const UnitRoom &needed, int64_t devices) {
  return (!sharing.gathersParameters(devices) || needed.gathered <= has.gathered) &&
         (!sharing.scattersEach(devices) || needed.scattered <= has.scattered);
}
inline UnitUse unitUse(const Sharing &sharing, int64_t devices) {
  return {sharing.cutsParameters(devices), devices, sharing.offload == Offload::Parameters};
}

/// What `--offload` asks for: `none`, `optimizer` or `parameters`; of those of `auto` the search takes one.
/// Slug `usage` where a word is unknown, or the device has no link to host memory.
Result<std::vector<Offload>> parseOffload(const std::string &flag, const DeviceProfile &profile);
/// For command lines: what is wrong with the flag on any device, or nothing.
std::string offloadComplaint(const std::string &flag);

/// Names of memory lines of the state, as printed.
inline constexpr const char *kAlignmentLine = "scalars, alignment", *kCopiesLine = "parts of copies",
                            *kGatheredLine = "gathered weights", *kScatteredLine = "gradients to scatter",
                            *kStagedLine = "offloaded state, two pieces";

/// Bytes of all lines of a role, unsharded.
int64_t bytesOf(const Problem &problem, StateRole role);

/// Bytes of all copies of weights, unsharded.
int64_t copiedBytes(const Problem &problem);

/// The modes that options, device count and profile leave, in order of preference: little offload, then
/// little sharding. Modes of one --shard and --offload are neighbours. Slug `usage` where a flag is unknown,
/// or asks for offload from a device without a link to host memory, or of more than it may take of that.
Result<std::vector<Sharing>> sharingModes(const Problem &problem, const DeviceProfile &profile,
                                          const Options &options);

/// Bytes of a device's state that are offloaded.
int64_t hostStateBytes(const Problem &problem, const Sharing &sharing, int64_t devices);

/// The mode that a plan names. Slug `invalid-plan` where a word is unknown.
Result<Sharing> sharingOf(const Plan &plan);

/// Bytes of the memory at the end of a device's state: for its parts of copies of weights, for whole units,
/// and for offloaded state on its way. 0: it has no such memory.
struct UnitMemory {
  int64_t copies = 0;
  UnitRoom room = {};
  int64_t staged = 0;
};
/// With `room` for whole units, or as much as they take at least.
UnitMemory unitMemory(const Problem &problem, const Sharing &sharing, int64_t devices,
                      const UnitRoom &room = {});

/// The fixed memory of a device in that mode; lines keep their order, units come last.
std::vector<FixedMemory> sharedMemory(const Problem &problem, const Sharing &sharing, int64_t devices,
                                      const UnitMemory &units);

/// The problem as a device runs it in that mode: copies of weights take no scratch if a device has its parts
/// of them in its state. Sizes change, links do not.
Problem sharedProblem(const Problem &problem, const Sharing &sharing, int64_t devices);

/// Seconds of a reduce-scatter or an all-gather of so many bytes around a ring, in `pieces`.
double ringPass(const DeviceProfile &profile, int64_t devices, double bytes, double pieces = 1);

/// Whether a line is time in which commands wait for units, or for offloaded state.
bool isForUnits(const TimeLine &line);

/// The all-reduce of gradients that starts in the last micro-step.
struct Overlap {
  double seconds = 0; ///< of the all-reduce itself
  double exposed = 0; ///< of them, those that the update waits for
};

/// Time lines of a step for collectives, transfers and the update. `update` is the time of the whole update,
/// of which a sharded device runs its part. `overlap`, if the state is not sharded, hides part of the
/// all-reduce. `units` are the transfers of a micro-step; without them all units count as gathered once in
/// the forward and once in the backward part. `copies` is `copiedBytes(problem)`, which callers compute once.
std::vector<TimeLine> sharingTime(const Problem &problem, const DeviceProfile &profile,
                                  const Sharing &sharing, int64_t devices, int64_t steps, double update,
                                  int64_t copies, const std::optional<Overlap> &overlap = std::nullopt,
                                  const std::optional<UnitTraffic> &units = std::nullopt);

} // namespace accum::planner
