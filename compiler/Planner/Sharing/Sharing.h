// SPDX-License-Identifier: Apache-2.0
// How the state is spread over devices and host memory: what it saves, and what it moves.
#pragma once
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Time/UnitTraffic.h"
#include <optional>

namespace accum::planner {

/// Each level shards what the one before does, and one thing more.
enum class Shard : uint8_t { None, Optimizer, Gradients, Parameters };
enum class Offload : uint8_t { None, Optimizer, Parameters };

/// One way to hold the state. `reduceEach`: gradients are reduced and scattered in every micro-step, so that
/// a device keeps its part only; else they are accumulated whole and reduced once.
struct Sharing {
  Shard shard = Shard::None;
  Offload offload = Offload::None;
  bool reduceEach = false;
  bool operator==(const Sharing &) const = default;

  /// A device has its part of the parameters, and of their copies, only.
  bool cutsParameters(int64_t devices) const { return shard == Shard::Parameters && devices > 1; }
  /// Parameters come to the commands unit by unit, frozen matrices too.
  bool gathersParameters(int64_t devices) const {
    return cutsParameters(devices) || offload == Offload::Parameters;
  }
};

const char *toText(Shard shard);     ///< `none`, `zero1`, `zero2`, `zero3`
const char *toText(Offload offload); ///< `none`, `optimizer`, `parameters`

/// What `--offload` asks for: `none`, `optimizer` or `parameters`; of those of `auto` the search takes one.
/// Slug `usage` where a word is unknown, or the device has no link to host memory.
Result<std::vector<Offload>> parseOffload(const std::string &flag, const DeviceProfile &profile);
/// For command lines: what is wrong with the flag on any device, or nothing.
std::string offloadComplaint(const std::string &flag);

/// Lines of the state: what is nobody's, and units that are whole for a while.
inline constexpr const char *kAlignmentLine = "scalars, alignment", *kCopiesLine = "parts of copies",
                            *kGatheredLine = "gathered weights", *kScatteredLine = "gradients to scatter",
                            *kStagedLine = "offloaded state, two pieces";

/// Bytes of all copies of weights, whole.
int64_t copiedBytes(const Problem &problem);

/// The ways that options, device count and profile leave, the plain one first where it is among them. Slug
/// `usage` where a flag is unknown, or asks for offload from a device without a link to host memory, or of
/// more than it may take of that.
Result<std::vector<Sharing>> sharingWays(const Problem &problem, const DeviceProfile &profile,
                                         const Options &options);

/// Bytes of a device's state that are in memory of the host.
int64_t hostStateBytes(const Problem &problem, const Sharing &sharing, int64_t devices);

/// The way that a plan names. Slug `invalid-plan` where a word is unknown.
Result<Sharing> sharingOf(const Plan &plan);

/// The fixed memory of a device in that way; lines keep their order, what is held beside comes last.
std::vector<FixedMemory> sharedMemory(const Problem &problem, const Sharing &sharing, int64_t devices);

/// The problem as a device runs it in that way: copies of weights take nothing where a device's parts of them
/// are in its state. Sizes change, links do not.
Problem sharedProblem(const Problem &problem, const Sharing &sharing, int64_t devices);

/// Seconds of one pass around the ring, a reduce-scatter or an all-gather of so many bytes in `pieces`.
double ringPass(const DeviceProfile &profile, int64_t devices, double bytes, double pieces = 1);

/// What a step of a plan waits at most for units that come and go in its micro-steps, in seconds.
double secondsForUnits(const Plan &plan);

/// Gradients summed over the devices beside the last micro-step.
struct Overlap {
  double seconds = 0; ///< of the sums themselves
  double exposed = 0; ///< of them, what the update waits for
};

/// What a step takes beside its commands: collectives and transfers, overlapped where `overlap` is given and
/// the state is not sharded; `update` is the time of the whole update, of which a sharded device runs its
/// part. `copies`: the problem's `copiedBytes`, known to whoever asks for many. `units`: of a micro-step;
/// without that all units are gathered for each half of it.
std::vector<TimeLine> sharingTime(const Problem &problem, const DeviceProfile &profile,
                                  const Sharing &sharing, int64_t devices, int64_t steps, double update,
                                  int64_t copies, const std::optional<Overlap> &overlap = std::nullopt,
                                  const std::optional<UnitTraffic> &units = std::nullopt);

} // namespace accum::planner
