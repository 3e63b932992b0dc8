// SPDX-License-Identifier: Apache-2.0
// Times per command, summed by phase.
#include "compiler/Planner/Time/TimeModel.h"
#include "compiler/Planner/Time/FeedTime.h"
#include "compiler/Planner/Time/GradientBuckets.h"
#include "compiler/Planner/Time/Instructions.h"
#include "compiler/Planner/Time/TileSchedule.h"
#include <algorithm>
#include <map>
#include <set>

namespace accum::planner {

namespace {

bool usesMatrixUnits(CommandKind kind) {
  return kind == CommandKind::Gemm || kind == CommandKind::Attention || kind == CommandKind::Convolution ||
         kind == CommandKind::Loss;
}

/// The share of a card's attention rate, which profiles give for heads of 64 features, that wider heads
/// reach: their tiles are smaller, and backward they read more of shared memory for each product. Counted in
/// the kernels' code for sm_90 (docs/decisions/attention-kernels-of-our-own.md), not timed.
double headShare(const DeviceProfile &card, const CallShape &call) {
  bool isAttention = card.isCuda() && call.name.starts_with("attention");
  double features = isAttention ? std::max(call.sizes[5].real(1), call.sizes[6].real(1)) : 0;
  if (features <= 64)
    return 1;
  bool backward = call.name.find("backward") != std::string::npos;
  return !backward ? 0.9 : features <= 128 ? 0.75 : 0.55;
}

/// Gradients are of one type, that of most commands: a step in f32 counts its samples in f64.
double gradientElements(const Problem &problem) {
  auto wide = std::ranges::count(problem.commands, "f64", &Command::dtype);
  bool isWide = 2 * static_cast<size_t>(wide) > problem.commands.size();
  return static_cast<double>(problem.allReduceBytes) / (isWide ? 8 : 4);
}

/// What a micro-step touches between two uses of a weight, or two additions to its gradient, at the least:
/// all others. Activations come on top, but where they are many, arithmetic hides the waiting.
double touchedBytes(const Problem &problem) {
  double sum = 0;
  for (const FixedMemory &line : problem.fixed)
    if (line.role == StateRole::Parameters || line.role == StateRole::Gradients)
      sum += line.bytes.real(1);
  return sum;
}

/// What a slice touches between two uses of a weight: those that are multiplied in slices, and their
/// gradients. Both are of one size, which the product of the gradient says.
double touchedInSlices(const Problem &problem) {
  double sum = 0;
  for (const Command &command : problem.commands) {
    const CallShape &call = command.variants.front().call;
    bool isSliced = std::ranges::any_of(command.variants, [](const Variant &way) { return way.slice > 0; });
    if (isSliced && call.name == "gemm-tn" && command.cloneOf < 0)
      sum += 2.0 * (command.dtype == "f64" ? 8 : 4) * call.sizes[0].real(1) * call.sizes[1].real(1) *
             call.sizes[2].real(1);
  }
  return sum;
}

double costOf(const DeviceProfile &profile, std::string_view name) {
  auto cost = profile.costs.find(name);
  return cost == profile.costs.end() ? 0 : cost->second;
}

/// Seconds of one element; nothing where nobody knows. Profiles from before an operation was told apart have
/// the one that it was part of.
std::optional<double> secondsEach(const DeviceProfile &profile, const std::string &operation) {
  static const std::map<std::string, std::string, std::less<>> kPartOf = {
      {"cross_entropy_computed", "cross_entropy"},
      {"reduce_wide_columns", "reduce_columns"},
      {"transpose_last", "transpose"}};
  auto cost = profile.costs.find(operation);
  if (auto whole = kPartOf.find(operation); cost == profile.costs.end() && whole != kPartOf.end())
    cost = profile.costs.find(whole->second);
  return cost == profile.costs.end() ? std::nullopt : std::optional(cost->second);
}

} // namespace

TimeModel::TimeModel(const Problem &problem, const DeviceProfile &profile, int64_t devices)
    : problem(problem), profile(profile), devices(devices),
      share(profile.sharedByDevices ? 1.0 / static_cast<double>(devices) : 1.0),
      touched(touchedBytes(problem)), missed(profile.misses.at(touched)),
      missedInSlices(profile.misses.at(std::min(touched, touchedInSlices(problem)))),
      callFetch(costOf(profile, "call_far_bytes") / share), kernelFetch(costOf(profile, "far_bytes") / share),
      copies(copiedBytes(problem)) {
  rates.reserve(problem.commands.size());
  for (const Command &command : problem.commands) {
    bool matrix = usesMatrixUnits(command.kind);
    const Rate &unit = profile.rate(matrix, command.dtype);
    const CallShape &call = command.variants.front().call;
    const Rate *attention =
        command.kind == CommandKind::Attention ? profile.attentionRate(command.dtype) : nullptr;
    const Rate &rate = attention ? *attention : unit;
    double reached = attention ? headShare(profile, call) : 1;
    rates.push_back({rate.sustained * reached * share, matrix, unit.peak * share, rate.halfAt});
  }
}

double TimeModel::tableSeconds(const TimeTable &table, const CallShape &call, int64_t m, int64_t pieces,
                               double missing) const {
  const TimeTable *far = findTable(profile.tables, table.call, table.dtype, Operands::Far);
  double uneven = table.threads > 0 ? unevenness(call, table.dtype, m, pieces, table.threads) : 1;
  int64_t lanes = profile.vectorBytes / (table.dtype == "f64" ? 8 : 4);
  return blend(table, far, missing, callPointInVectors(call, m, pieces, lanes), uneven) / share;
}

/// One of `pieces` parts of `m` samples, where so much of the weights comes from memory.
TimeModel::Time TimeModel::timeOf(size_t index, const Variant &variant, int64_t m, int64_t pieces,
                                  double missing) const {
  if (const TimeTable *table = variant.call.name.empty() ? nullptr
                                                         : findTable(profile.tables, variant.call.name,
                                                                     problem.commands[index].dtype))
    return {.compute = tableSeconds(*table, variant.call, m, pieces, missing), .source = TimeSource::Table};
  Time time{.memory = variant.bytes.real(m, pieces) / (profile.bandwidth * share), .launch = profile.launch};
  bool updates = problem.commands[index].kind == CommandKind::Update;
  // A card's threads issue one instruction where its rate counts one operation that is no fused one.
  if (profile.isCuda() && profile.costs.empty() && !variant.work.empty()) {
    const Rate &issue = profile.rate(/*matrix=*/false, problem.commands[index].dtype);
    time.compute = instructionsOf(variant, m, pieces) / (issue.sustained * share);
    return time;
  }
  // Arithmetic that nobody has broken down into operations.
  bool onlyFlops = variant.work.empty() && !updates && !variant.flops.isZero();
  if (onlyFlops || profile.costs.empty()) {
    time.compute = variant.flops.real(m, pieces) / rates[index].flopsPerSecond;
    if (!variant.call.name.empty()) {
      std::array<double, 3> point = callPoint(variant.call, m, pieces);
      for (size_t size = 0; size < 3; ++size)
        time.compute *= 1 + rates[index].halfAt[size] / point[size];
    }
    return time;
  }
  // What operations and memory traffic cost adds up: kernels are measured as sums of both.
  time.source = TimeSource::Costs;
  auto traffic = profile.costs.find(updates ? "update_bytes" : "bytes");
  if (traffic != profile.costs.end())
    time.compute = variant.bytes.real(m, pieces) * traffic->second / share;
  for (const OperationCount &count : variant.work) {
    auto cost = secondsEach(profile, count.operation);
    double each = cost ? *cost / share : 1 / rates[index].flopsPerSecond;
    time.compute += updates ? 0 : count.elements.real(m, pieces) * each;
  }
  // What takes less than starting the threads takes runs on one.
  time.launch = std::min(time.launch, time.compute);
  return time;
}

RegionTime TimeModel::waiting(const Time &time) {
  return {
      .total = time.total(), .launch = time.launch, .memory = time.memory > time.compute ? time.memory : 0};
}

/// What a command of a micro-step finds no longer in a cache, of the bytes that grow with m: its activations.
/// What it carries was touched as long ago as the other half of the micro-step and the one before it are
/// deep, from nothing for the last layer to everything for the first: the mean of that, for all layers alike.
/// The rest was written just now, and is gone where the command touches more than the cache holds.
double TimeModel::farBytes(size_t index, const Variant &way, int64_t m) const {
  const Command &command = problem.commands[index];
  if (!problem.isMain(command) || command.of != kNoIndex || profile.misses.bytes.empty())
    return 0;
  auto samples = static_cast<double>(m);
  double bytes = static_cast<double>(way.bytes.perSample) * samples;
  double old = std::min(bytes, command.carried.real(m));
  double atOnce = bytes;
  if (way.slice > 0)
    atOnce *= static_cast<double>(std::min(m, way.slice)) / samples / static_cast<double>(way.pieces);
  return old * profile.misses.mean(touched + problem.carried.real(m)) +
         (bytes - old) * profile.misses.at(atOnce);
}

double TimeModel::fetching(size_t index, const Variant &way, int64_t m) const {
  double cost = way.call.name.empty() ? kernelFetch : callFetch;
  return cost > 0 ? cost * farBytes(index, way, m) : 0;
}

RegionTime TimeModel::time(size_t index, size_t variant, int64_t m) const {
  const Command &which = problem.commands[index];
  const Variant &way = which.variants[variant];
  double fetched = fetching(index, way, m);
  RegionTime sum{.total = fetched, .memory = fetched};
  if (way.slice == 0 || (way.slice >= m && way.pieces == 1)) {
    RegionTime whole = waiting(timeOf(index, way, m, 1, missed));
    return {.total = whole.total + fetched, .launch = whole.launch, .memory = whole.memory + fetched};
  }
  auto pieces = static_cast<double>(way.pieces); // any number
  auto add = [&](int64_t samples, double count, double missing) {
    RegionTime each = waiting(timeOf(index, way, samples, way.pieces, missing));
    sum.total += count * each.total;
    sum.launch += count * each.launch;
    sum.memory += count * each.memory;
  };
  // The first slice finds the weights where the micro-step before left them, the others where that one did.
  int64_t first = std::min(m, way.slice), rest = m % way.slice;
  add(first, 1, missed);
  add(first, static_cast<double>(std::max<int64_t>(1, m / way.slice)) * pieces - 1, missedInSlices);
  if (rest > 0 && m > way.slice)
    add(rest, pieces, missedInSlices);
  return sum;
}

std::vector<RegionTime> TimeModel::regions(int64_t m) const {
  std::vector<RegionTime> times(problem.phases.size());
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    RegionTime &phase = times[problem.timedIn(problem.commands[index])];
    RegionTime one = command(index, m);
    phase.total += one.total;
    phase.launch += one.launch;
    phase.memory += one.memory;
    phase.again += problem.commands[index].cloneOf >= 0 ? one.total : 0;
  }
  return times;
}

double TimeModel::copying(int64_t m) const {
  std::set<int> copiers;
  for (const Buffer &buffer : problem.buffers)
    if (buffer.role == StateRole::Parameters && buffer.producer != kNoIndex &&
        problem.kindOf(problem.commands[buffer.producer]) == PhaseKind::Once)
      copiers.insert(buffer.producer);
  double seconds = 0;
  for (int index : copiers)
    seconds += command(static_cast<size_t>(index), m).total;
  return seconds;
}

std::optional<Overlap> TimeModel::overlapOf(const Cut &cut) const {
  if (devices == 1 || !profile.overlapsSums || problem.parameters.empty())
    return std::nullopt;
  std::map<int64_t, size_t> numbers;
  std::vector<double> ends; // of each command of a micro-step
  double now = 0;
  for (size_t index = 0; index < problem.commands.size(); ++index)
    if (problem.isMain(problem.commands[index]) && problem.commands[index].of == kNoIndex) {
      numbers[problem.commands[index].id] = ends.size();
      ends.push_back(now += command(index, cut.m).total);
    }
  std::vector<int64_t> bytes;
  std::vector<size_t> finalAfter;
  for (const Parameter &parameter : problem.parameters) {
    auto last = numbers.find(parameter.after);
    bytes.push_back(parameter.bytes);
    finalAfter.push_back(last == numbers.end() ? kNeverFinal : last->second);
  }
  auto rest = static_cast<double>(problem.allReduceBytes);
  double summed = 0;
  Overlap overlap;
  auto sum = [&](double size, double begin) {
    double seconds = 2 * ringPass(profile, devices, size);
    overlap.seconds += seconds;
    summed = std::max(summed, begin) + seconds;
    rest -= size;
  };
  for (const GradientBucket &bucket : gradientBuckets(bytes, finalAfter, ends.empty() ? 0 : ends.size() - 1))
    sum(static_cast<double>(bucket.bytes), ends[bucket.after]);
  if (rest > 0)
    sum(rest, now);
  overlap.exposed = std::min(overlap.seconds, std::max(0.0, summed - now));
  return overlap;
}

Concurrent TimeModel::concurrent(const Cut &cut, const std::vector<RegionTime> &times) const {
  return {overlapOf(cut), feedTime(problem, profile, *this, cut, mainLoop(times).total)};
}

std::optional<UnitTraffic> TimeModel::unitsAt(int64_t m, const Sharing &sharing, const UnitRoom &room) const {
  bool cuts = sharing.cutsParameters(devices), isOffloaded = sharing.offload == Offload::Parameters;
  bool scatters = sharing.reduceEach && devices > 1;
  if (!cuts && !isOffloaded && !scatters)
    return std::nullopt;
  UnitUse use = unitUse(sharing, devices);
  auto known = std::ranges::find_if(
      timelines, [&](const KnownTimeline &each) { return each.use == use && each.room == room; });
  if (known == timelines.end())
    known = timelines.insert(known, {use, room, unitTimeline(problem, use, room)});
  const std::optional<UnitTimeline> &timeline = known->timeline;
  if (!timeline)
    return std::nullopt;
  std::vector<double> seconds;
  for (const std::vector<size_t> &commands : timeline->commandsAt) {
    double sum = 0;
    for (size_t index : commands)
      sum += command(index, m).total;
    seconds.push_back(sum);
  }
  UnitRates rates{[&](int64_t bytes) { return ringPass(profile, devices, static_cast<double>(bytes)); },
                  {},
                  cuts,
                  scatters};
  double parts = cuts ? static_cast<double>(devices) : 1;
  if (isOffloaded)
    rates.fetch = [&, parts](int64_t bytes) {
      return static_cast<double>(bytes) / parts / profile.offloadBandwidth();
    };
  return unitTraffic(*timeline, seconds, rates);
}

std::vector<TimeLine> TimeModel::step(const Cut &cut, const Sharing &sharing, const Concurrent &concurrent,
                                      const std::vector<RegionTime> &times) const {
  double steps = static_cast<double>(cut.steps), once = 0, update = 0;
  RegionTime micro = mainLoop(times);
  std::vector<TimeLine> lines;
  for (size_t phase = 0; phase < times.size(); ++phase) {
    const auto &[name, kind] = problem.phases[phase];
    if (!isLoop(kind))
      (kind == PhaseKind::Once ? once : update) += times[phase].total;
    else if (double loops = kind == PhaseKind::Rest ? steps - 1 : steps;
             kind != PhaseKind::Main && loops * times[phase].total > 0)
      lines.push_back({name, loops * times[phase].total});
  }
  if (sharing.shard == Shard::Parameters) // a device copies its part of the weights
    once -= copying(cut.m) * (1 - 1 / static_cast<double>(devices));
  if (once > 0)
    lines.push_back({"once per step", once});
  lines.push_back({"micro-steps", steps * (micro.total - micro.again)});
  if (micro.again > 0)
    lines.push_back({"recomputation", steps * micro.again});
  if (concurrent.feed)
    lines.push_back(*concurrent.feed);
  for (TimeLine &line : sharingTime(problem, profile, sharing, devices, cut.steps, update, copies,
                                    concurrent.sums, concurrent.units))
    lines.push_back(std::move(line));
  auto norm = profile.costs.find("norm");
  if (norm != profile.costs.end() && problem.allReduceBytes > 0)
    lines.push_back({"gradient norm", norm->second / share * gradientElements(problem)});
  return lines;
}

double TimeModel::utilisation(int64_t samples, double seconds) const {
  double secondsAtPeak = 0;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    if (!rates[index].matrix || !problem.isMain(command) || command.cloneOf >= 0 || command.of != kNoIndex)
      continue;
    secondsAtPeak += command.variants.front().flops.real(samples) / rates[index].peak;
  }
  return seconds > 0 ? secondsAtPeak / seconds : 0;
}

} // namespace accum::planner
