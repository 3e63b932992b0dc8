// SPDX-License-Identifier: Apache-2.0
// Bytes and seconds of sharding and offload, as formulas of D and K.
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Problem/Amount.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Sharing/Gathering.h"
#include "compiler/Planner/Sharing/Units.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace accum::planner {

namespace {

constexpr const char *kScatterTime = "reduce-scatter, each micro-step",
                     *kGatherTime = "all-gather of weights, each micro-step", *kOffloadTime = "offload";

int64_t partOf(int64_t bytes, int64_t devices) {
  int64_t part = bytes / devices + (bytes % devices != 0 ? 1 : 0);
  return (part + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

bool isSharded(const Sharing &sharing, StateRole role) {
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

bool isOffloaded(const Sharing &sharing, StateRole role) {
  if (role == StateRole::Optimizer || role == StateRole::Master)
    return sharing.offload >= Offload::Optimizer;
  return (role == StateRole::Parameters || role == StateRole::Frozen) &&
         sharing.offload >= Offload::Parameters;
}

/// Bytes of a role on all devices together, as if there were one.
int64_t bytesOf(const Problem &problem, StateRole role) {
  int64_t sum = 0;
  for (const FixedMemory &line : problem.fixed)
    sum = saturatedSum(sum, line.role == role ? line.bytes.at(1) : 0);
  return sum;
}

Result<std::vector<Shard>> shardsOf(const std::string &flag) {
  constexpr Shard all[] = {Shard::None, Shard::Optimizer, Shard::Gradients, Shard::Parameters};
  if (flag == "auto")
    return std::vector<Shard>(std::begin(all), std::end(all));
  for (Shard shard : all)
    if (flag == toText(shard))
      return std::vector<Shard>{shard};
  return Error{fmt::format("--shard is `{}`, expected auto, none, zero1, zero2 or zero3", flag), "usage"};
}

/// Ranges of the state as a sharded layout has them: each of the same bytes, units padded. Nothing where the
/// problem does not say what its parameters take.
std::optional<int64_t> rangeBytes(const Problem &problem, const Sharing &sharing, int64_t devices) {
  if (problem.parameters.empty())
    return std::nullopt;
  return unitsOf(problem.parameters, sharing.cutsParameters(devices), devices).allBytes();
}

/// Bytes of the state that frozen parameters in parts take: whole, and in units.
int64_t alignedFrozen(const Problem &problem) {
  int64_t bytes = 0;
  for (const Parameter &each : problem.frozen)
    bytes += each.bytes;
  return bytes;
}
int64_t frozenRange(const Problem &problem, int64_t devices) {
  return unitsOf(problem.frozen, /*cutParameters=*/true, devices).allBytes();
}

/// Bytes of a device's parts of copies, where it has parts of parameters.
int64_t copiedPart(const Problem &problem, int64_t devices) {
  int64_t bytes = unitsOf(problem.parameters, /*cutParameters=*/true, devices).copyBytes();
  return bytes > 0 ? bytes / devices : partOf(copiedBytes(problem), devices);
}

/// Bytes of a role on one of several devices, of a line that has so many where nothing is sharded.
int64_t heldBytes(const Problem &problem, const Sharing &sharing, int64_t devices, StateRole role,
                  int64_t bytes) {
  int64_t parts = isSharded(sharing, role) ? devices : 1;
  if (parts == 1 && !isOffloaded(sharing, role))
    return bytes;
  if (role == StateRole::Frozen && !problem.frozen.empty())
    return frozenRange(problem, devices) / parts;
  auto range = rangeBytes(problem, sharing, devices);
  int64_t weights = bytesOf(problem, StateRole::Parameters);
  if (!range || weights == 0 || role == StateRole::Master)
    return partOf(bytes, parts);
  return std::max(partOf(bytes, parts),
                  (role == StateRole::Optimizer ? bytes / weights : 1) * (*range / parts));
}

/// Bytes of the places through which offloaded state passes: two pieces of each range.
int64_t stagedBytes(const Problem &problem, const Sharing &sharing, int64_t devices) {
  int64_t weights = bytesOf(problem, StateRole::Parameters), all = 0, ranges = 0;
  for (StateRole role : {StateRole::Optimizer, StateRole::Master, StateRole::Parameters})
    if (isOffloaded(sharing, role)) {
      all = saturatedSum(all, heldBytes(problem, sharing, devices, role, bytesOf(problem, role)));
      ranges += weights == 0 ? 0 : (bytesOf(problem, role) + weights - 1) / weights;
    }
  if (weights == 0)
    return all;
  int64_t parts = sharing.shard == Shard::None ? 1 : devices, each = 0, places = 2;
  const UnitLayout units = unitsOf(problem.parameters, sharing.cutsParameters(devices), devices);
  if (units.bytes.empty()) {
    each = partOf(problem.largestParameter, parts);
  } else {
    int64_t count = 0;
    for (size_t unit = 0; unit < units.bytes.size(); ++unit) {
      each = std::max(each, units.bytes[unit] / parts / units.pieces[unit]);
      count += units.pieces[unit];
    }
    places = std::min(places, count);
  }
  places *= ranges;
  int64_t staged = each > 0 && places > INT64_MAX / each ? INT64_MAX : places * each;
  return units.bytes.empty() ? std::min(staged, all) : staged;
}

/// Bytes of copies of weights that one of several devices has.
int64_t heldCopies(const Problem &problem, const Sharing &sharing, int64_t devices) {
  int64_t bytes = copiedBytes(problem);
  return bytes > 0 && sharing.cutsParameters(devices) ? copiedPart(problem, devices) : bytes;
}

/// What a sharded layout takes more than the lines above, or less: parameters and gradients that are whole
/// are padded by units, and what is cut has its alignment in its own line.
int64_t alignmentOfUnits(const Problem &problem, const Sharing &sharing, int64_t devices) {
  auto range = rangeBytes(problem, sharing, devices);
  bool isPlain = sharing.offload == Offload::None && (sharing.shard == Shard::None || devices == 1);
  if (!range || isPlain)
    return 0;
  int64_t weights = bytesOf(problem, StateRole::Parameters), aligned = 0;
  for (const Parameter &parameter : problem.parameters)
    aligned += parameter.bytes;
  int64_t slots = weights == 0 ? 0 : bytesOf(problem, StateRole::Optimizer) / weights;
  int64_t more = -(aligned - weights) * (1 + slots);
  if (sharing.gathersParameters(devices))
    more -= alignedFrozen(problem) - bytesOf(problem, StateRole::Frozen);
  if (!isSharded(sharing, StateRole::Parameters) && !isOffloaded(sharing, StateRole::Parameters))
    more += *range - weights;
  if (!isSharded(sharing, StateRole::Gradients))
    more += *range - bytesOf(problem, StateRole::Gradients);
  return more;
}

} // namespace

const char *toText(Shard shard) {
  static constexpr const char *words[] = {"none", "zero1", "zero2", "zero3"};
  return words[static_cast<int>(shard)];
}

const char *toText(Offload offload) {
  static constexpr const char *words[] = {"none", "optimizer", "parameters"};
  return words[static_cast<int>(offload)];
}

Result<std::vector<Offload>> parseOffload(const std::string &flag, const DeviceProfile &profile) {
  constexpr Offload all[] = {Offload::None, Offload::Optimizer, Offload::Parameters};
  bool possible = profile.offloadBandwidth() > 0;
  if (flag == "auto")
    return possible ? std::vector<Offload>(std::begin(all), std::end(all)) : std::vector{Offload::None};
  for (Offload offload : all) {
    if (flag != toText(offload))
      continue;
    if (offload != Offload::None && !possible)
      return Error{
          fmt::format("--offload {}: target {} has no link to memory of its host", flag, profile.name),
          "usage",
          {"`host_link` of a profile, or `disk` of a host's, says how fast it is"}};
    return std::vector<Offload>{offload};
  }
  return Error{fmt::format("--offload: `{}` is none of auto, none, optimizer, parameters", flag), "usage"};
}

std::string offloadComplaint(const std::string &flag) {
  DeviceProfile linked;
  linked.diskBandwidth = 1;
  Result<std::vector<Offload>> asked = parseOffload(flag, linked);
  return asked ? std::string() : asked.error().message.substr(std::string_view("--offload: ").size());
}

Result<std::vector<Sharing>> sharingWays(const Problem &problem, const DeviceProfile &profile,
                                         const Options &options) {
  Result<std::vector<Shard>> shards = shardsOf(options.shard);
  if (!shards)
    return shards.error();
  Result<std::vector<Offload>> offloads = parseOffload(options.offload, profile);
  if (!offloads)
    return offloads.error();
  if (options.offload == "parameters" && options.devices > 1 && options.shard != "zero3" &&
      options.shard != "auto")
    return Error{"--offload parameters on several devices keeps a part of them on each",
                 "usage",
                 {"--shard zero3, or auto; or --offload optimizer"}};
  std::vector<Sharing> ways;
  for (Shard shard : *shards)
    for (Offload offload : *offloads)
      for (bool reduceEach : {false, true}) {
        // Reduced once, gradients are as whole as with zero1. With one device, or nothing to spread, all are
        // the same.
        // Parameters come from where they are offloaded as they come from other devices: unit by unit.
        if (offload == Offload::Parameters && options.devices > 1 && shard != Shard::Parameters)
          continue;
        bool pointless =
            shard != Shard::None && (options.devices == 1 || bytesOf(problem, StateRole::Gradients) == 0);
        if ((pointless && options.shard == "auto") ||
            (reduceEach && (shard < Shard::Gradients || pointless)) ||
            (!reduceEach && shard == Shard::Gradients && !pointless))
          continue;
        ways.push_back({pointless ? Shard::None : shard, offload, reduceEach});
      }
  int64_t least = INT64_MAX;
  std::erase_if(ways, [&](const Sharing &way) {
    int64_t bytes = hostStateBytes(problem, way, options.devices);
    least = std::min(least, bytes);
    return profile.hostMemory > 0 && bytes > profile.hostMemory;
  });
  if (ways.empty())
    return Error{
        fmt::format("--offload {}: {} of the host's memory, where target {} lets a device have {}",
                    options.offload, formatBytes(least), profile.name, formatBytes(profile.hostMemory)),
        "usage",
        {"`host_link` of a profile says how much it is; --shard auto spreads the state over devices"}};
  return ways;
}

int64_t hostStateBytes(const Problem &problem, const Sharing &sharing, int64_t devices) {
  auto held = [&](int64_t bytes, StateRole role) {
    return heldBytes(problem, sharing, devices, role, bytes);
  };
  int64_t sum = 0;
  for (const FixedMemory &line : problem.fixed)
    sum = saturatedSum(sum, isOffloaded(sharing, line.role) ? held(line.bytes.at(1), line.role) : 0);
  return sum;
}

Result<Sharing> sharingOf(const Plan &plan) {
  for (Shard shard : {Shard::None, Shard::Optimizer, Shard::Gradients, Shard::Parameters})
    for (Offload offload : {Offload::None, Offload::Optimizer, Offload::Parameters})
      if (plan.shard == toText(shard) && plan.offload == toText(offload))
        return Sharing{shard, offload, plan.reduce == "each"};
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

std::vector<FixedMemory> sharedMemory(const Problem &problem, const Sharing &sharing, int64_t devices) {
  std::vector<FixedMemory> lines;
  auto held = [&](int64_t bytes, StateRole role) {
    return heldBytes(problem, sharing, devices, role, bytes);
  };
  int64_t alignment = alignmentOfUnits(problem, sharing, devices);
  for (const FixedMemory &line : problem.fixed) {
    FixedMemory own = line;
    if (line.kind == FixedKind::State && line.name == kAlignmentLine)
      own.bytes.fixed += std::exchange(alignment, 0);
    if (isSharded(sharing, line.role) && devices > 1) {
      own.name += fmt::format(" / {}", devices);
      own.bytes = {held(line.bytes.at(1), line.role), 0, {}};
    }
    if (!isOffloaded(sharing, line.role))
      lines.push_back(std::move(own));
  }
  if (alignment > 0)
    lines.push_back({FixedKind::State, kAlignmentLine, {alignment, 0, {}}});
  bool gathers = sharing.gathersParameters(devices);
  bool scatters = sharing.reduceEach && devices > 1;
  auto add = [&](const char *name, int64_t bytes) {
    lines.push_back(
        {FixedKind::State, name, {(bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment, 0, {}}});
  };
  UnitPlaces places{2 * problem.largestParameter, 2 * problem.largestParameter};
  if (gathers || scatters)
    places =
        unitPlaces(problem, sharing.cutsParameters(devices), devices, /*offloaded=*/false).value_or(places);
  if (copiedBytes(problem) > 0 && sharing.cutsParameters(devices))
    add(kCopiesLine, heldCopies(problem, sharing, devices));
  if (gathers)
    add(kGatheredLine, std::max(places.gathered, problem.gathered));
  if (scatters)
    add(kScatteredLine, std::max(places.scattered, problem.scattered));
  if (sharing.offload != Offload::None && problem.wholeUpdate == 0) // else units pass through their places
    add(kStagedLine, stagedBytes(problem, sharing, devices));
  return lines;
}

double ringPass(const DeviceProfile &profile, int64_t devices, double bytes, double pieces) {
  if (devices == 1 || bytes == 0)
    return 0;
  auto ranks = static_cast<double>(devices);
  return (ranks - 1) / ranks * bytes / profile.linkBandwidth + (ranks - 1) * profile.linkLatency * pieces;
}

double secondsForUnits(const Plan &plan) {
  double sum = 0;
  for (const TimeLine &line : plan.time)
    if (line.name == kScatterTime || line.name == kGatherTime || line.name == kOffloadTime)
      sum += line.seconds;
  return sum;
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
