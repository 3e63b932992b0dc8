// SPDX-License-Identifier: Apache-2.0
// The modes that flags leave, and their seconds, as formulas of D and K.
#include "compiler/Planner/Sharing/Sharing.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accum::planner {

namespace {

constexpr const char *kScatterTime = "reduce-scatter, each micro-step",
                     *kGatherTime = "all-gather of weights, each micro-step", *kOffloadTime = "offload";

Result<std::vector<Shard>> shardsOf(const std::string &flag) {
  if (flag == "auto")
    return allShards();
  if (auto shard = shardNamed(flag))
    return std::vector{*shard};
  std::vector<std::string_view> words = {"auto"};
  for (Shard shard : allShards())
    words.push_back(toText(shard));
  std::string_view last = words.back();
  words.pop_back();
  return Error{fmt::format("--shard is `{}`, expected {} or {}", flag, fmt::join(words, ", "), last),
               "usage"};
}

} // namespace

Result<std::vector<Offload>> parseOffload(const std::string &flag, const DeviceProfile &profile) {
  bool possible = profile.offloadBandwidth() > 0;
  if (flag == "auto")
    return possible ? allOffloads() : std::vector{Offload::None};
  std::optional<Offload> offload = offloadNamed(flag);
  if (!offload)
    return Error{fmt::format("--offload: `{}` is none of auto, none, optimizer, parameters", flag), "usage"};
  if (*offload != Offload::None && !possible)
    return Error{fmt::format("--offload {}: target {} has no link to memory of its host", flag, profile.name),
                 "usage",
                 {"`host_link` of a profile, or `disk` of a host's, says how fast it is"}};
  return std::vector{*offload};
}

std::string offloadComplaint(const std::string &flag) {
  DeviceProfile linked;
  linked.diskBandwidth = 1;
  Result<std::vector<Offload>> asked = parseOffload(flag, linked);
  return asked ? std::string() : asked.error().message.substr(std::string_view("--offload: ").size());
}

namespace {

/// With one device, or without gradients, there is nothing to shard.
bool isPointless(const Problem &problem, const Options &options, Shard shard) {
  return shard != Shard::None && (options.devices == 1 || bytesOf(problem, StateRole::Gradients) == 0);
}

/// Whether `auto` compares a mode, or the mode that was asked for exists.
bool isMode(const Problem &problem, const Options &options, const Sharing &mode) {
  const auto &[shard, offload, reduceEach] = mode;
  // Offloaded parameters come to the commands as those of other devices do: unit by unit.
  if (offload == Offload::Parameters && options.devices > 1 && shard != Shard::Parameters)
    return false;
  bool hasMoments = bytesOf(problem, StateRole::Optimizer) + bytesOf(problem, StateRole::Master) > 0;
  if (options.offload == "auto" && offload == Offload::Optimizer && !hasMoments)
    return false;
  bool pointless = isPointless(problem, options, shard);
  bool isAlike = pointless || (shard == Shard::Optimizer && problem.wholeUpdate != 0); // holds all of it
  if (options.shard == "auto" && isAlike)
    return false;
  if (pointless)
    return !reduceEach;
  // Reduced once, gradients are as whole as with zero1.
  return shard == Shard::Gradients ? reduceEach : !reduceEach || shard > Shard::Gradients;
}

} // namespace

Result<std::vector<Sharing>> sharingModes(const Problem &problem, const DeviceProfile &profile,
                                          const Options &options) {
  Result<std::vector<Shard>> shards = shardsOf(options.shard);
  if (!shards)
    return shards.error();
  Result<std::vector<Offload>> offloads = parseOffload(options.offload, profile);
  if (!offloads)
    return offloads.error();
  if (options.offload == "parameters" && options.devices > 1 && options.shard != "auto" &&
      shards->front() != Shard::Parameters)
    return Error{"--offload parameters on several devices keeps a part of them on each",
                 "usage",
                 {fmt::format("--shard {}, or auto; or --offload optimizer", toText(Shard::Parameters))}};
  std::vector<Sharing> modes;
  for (Offload offload : *offloads)
    for (Shard shard : *shards)
      for (bool reduceEach : {false, true})
        if (isMode(problem, options, {shard, offload, reduceEach}))
          modes.push_back({isPointless(problem, options, shard) ? Shard::None : shard, offload, reduceEach});
  int64_t least = INT64_MAX;
  std::erase_if(modes, [&](const Sharing &mode) {
    int64_t bytes = hostStateBytes(problem, mode, options.devices);
    least = std::min(least, bytes);
    return profile.hostMemory > 0 && bytes > profile.hostMemory;
  });
  if (modes.empty())
    return Error{
        fmt::format("--offload {}: {} of the host's memory, where target {} lets a device have {}",
                    options.offload, formatBytes(least), profile.name, formatBytes(profile.hostMemory)),
        "usage",
        {"`host_link` of a profile says how much it is; --shard auto spreads the state over devices"}};
  return modes;
}

Result<Sharing> sharingOf(const Plan &plan) {
  std::optional<Shard> shard = shardNamed(plan.shard);
  std::optional<Offload> offload = offloadNamed(plan.offload);
  if (shard && offload)
    return Sharing{*shard, *offload, plan.reduce == "each"};
  return Error{fmt::format("shard `{}` or offload `{}` is not a known word", plan.shard, plan.offload),
               "invalid-plan"};
}

int64_t copiedBytes(const Problem &problem) {
  int64_t sum = 0;
  for (const Buffer &buffer : problem.buffers)
    sum = saturatedSum(sum, buffer.role == StateRole::Parameters ? buffer.bytes.fixed : 0);
  return sum;
}

Problem sharedProblem(const Problem &problem, const Sharing &sharing, int64_t devices) {
  Problem shared = problem;
  for (Buffer &buffer : shared.buffers)
    if (buffer.role == StateRole::Parameters && sharing.cutsParameters(devices))
      buffer.bytes.fixed = 0;
  return shared;
}

double ringPass(const DeviceProfile &profile, int64_t devices, double bytes, double pieces) {
  if (devices == 1 || bytes == 0)
    return 0;
  auto ranks = static_cast<double>(devices);
  return (ranks - 1) / ranks * bytes / profile.linkBandwidth + (ranks - 1) * profile.linkLatency * pieces;
}

bool isForUnits(const TimeLine &line) {
  return line.name == kScatterTime || line.name == kGatherTime || line.name == kOffloadTime;
}

std::vector<TimeLine> sharingTime(const Problem &problem, const DeviceProfile &profile,
                                  const Sharing &sharing, int64_t devices, int64_t steps, double update,
                                  int64_t copies, const std::optional<Overlap> &overlap,
                                  const std::optional<UnitTraffic> &units) {
  std::vector<TimeLine> lines;
  double ranks = static_cast<double>(devices), count = static_cast<double>(steps);
  auto pass = [&](int64_t bytes, double pieces) {
    return ringPass(profile, devices, static_cast<double>(bytes), pieces);
  };
  int64_t gradients = problem.allReduceBytes, weights = bytesOf(problem, StateRole::Parameters);
  int64_t reads = problem.weightReads > 0 ? problem.weightReads : weights;
  int64_t frozen = sharing.gathersParameters(devices) ? bytesOf(problem, StateRole::Frozen) : 0;
  reads += frozen;
  auto piecesOf = [&](int64_t bytes) {
    return problem.largestParameter == 0
               ? 1.0
               : std::max(1.0, static_cast<double>(bytes) / static_cast<double>(problem.largestParameter));
  };
  if (devices > 1 && sharing.shard == Shard::None && overlap)
    lines.push_back({"all-reduce", overlap->exposed, overlap->seconds - overlap->exposed});
  else if (devices > 1 && sharing.shard == Shard::None)
    lines.push_back({"all-reduce", 2 * pass(gradients, 1)});
  if (devices > 1 && sharing.shard != Shard::None && !sharing.reduceEach)
    lines.push_back({"reduce-scatter, once", pass(gradients, 1)});
  auto eachStep = [&](const char *name, const Traffic &traffic) {
    lines.push_back({name, count * traffic.exposed, count * (traffic.seconds - traffic.exposed)});
  };
  if (sharing.reduceEach && units)
    eachStep(kScatterTime, units->scattering);
  else if (sharing.reduceEach)
    lines.push_back({kScatterTime, count * pass(gradients, piecesOf(gradients))});
  if (sharing.shard == Shard::Parameters && units)
    eachStep(kGatherTime, units->gathering);
  else if (sharing.shard == Shard::Parameters)
    lines.push_back({kGatherTime, 2 * count * pass(reads, piecesOf(reads))});
  else if (sharing.shard != Shard::None && problem.wholeUpdate == 0)
    lines.push_back({"all-gather of weights", pass(weights, 1)});
  if (problem.wholeUpdate != 0 && sharing.shard != Shard::None)
    lines.push_back({"all-gather for the update",
                     pass(gradients, 1) + (sharing.cutsParameters(devices) ? pass(weights, 1) : 0)});
  int64_t moments = bytesOf(problem, StateRole::Optimizer) + bytesOf(problem, StateRole::Master);
  double share = sharing.shard == Shard::None ? 1 : 1 / ranks;
  if (problem.wholeUpdate == 0)
    update *= share;
  lines.push_back({"update", update});
  double moved = sharing.offload >= Offload::Optimizer ? 2 * share * static_cast<double>(moments) : 0;
  // Optimizer state passes beside the update of other units, parameters where they are needed.
  double bandwidth = profile.offloadBandwidth(),
         hidden = std::min(update, 2 * share * static_cast<double>(moments) / bandwidth);
  // In for each half of a micro-step, but for those that are read as copies, which the device has: they come
  // once, to be copied. In and out for the update.
  double part = sharing.shard == Shard::Parameters ? share : 1;
  if (sharing.offload == Offload::Parameters) {
    moved += part * static_cast<double>(copies > 0 ? 3 * weights + frozen : 2 * weights);
    double fetched = 2 * part * static_cast<double>(std::max<int64_t>(reads - copies, 0));
    if (units) {
      fetched = units->fetching.seconds * bandwidth;
      hidden += count * (units->fetching.seconds - units->fetching.exposed);
    }
    moved += count * fetched;
  }
  if (moved > 0)
    lines.push_back({kOffloadTime, moved / bandwidth - hidden, hidden});
  return lines;
}

} // namespace accum::planner
