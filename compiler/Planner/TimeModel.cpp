// SPDX-License-Identifier: Apache-2.0
// The roofline per command, summed by region.
#include "compiler/Planner/TimeModel.h"
#include <algorithm>

namespace accum::planner {

namespace {

bool usesMatrixUnits(CommandKind kind) {
  return kind == CommandKind::Gemm || kind == CommandKind::Attention || kind == CommandKind::Convolution ||
         kind == CommandKind::Loss;
}

/// Of one of `pieces` parts of m samples.
double evaluate(const Amount &amount, int64_t m, int64_t pieces = 1) {
  auto parts = static_cast<double>(pieces);
  if (!amount.table.empty())
    return static_cast<double>(amount.at(m)) / parts;
  return static_cast<double>(amount.fixed) +
         static_cast<double>(amount.perSample) * static_cast<double>(m) / parts;
}

} // namespace

TimeModel::TimeModel(const Problem &problem, const DeviceProfile &profile, int64_t devices)
    : problem(problem), profile(profile), devices(devices),
      share(profile.sharedByDevices ? 1.0 / static_cast<double>(devices) : 1.0) {
  rates.reserve(problem.commands.size());
  for (const Command &command : problem.commands) {
    bool matrix = usesMatrixUnits(command.kind);
    const Rate &rate = profile.rate(matrix, command.dtype);
    rates.push_back({rate.sustained * share, matrix, rate.peak * share});
  }
}

/// One of `pieces` parts of `samples` samples.
RegionTime TimeModel::atOnce(size_t index, const Variant &way, int64_t samples, int64_t pieces) const {
  double compute = evaluate(way.flops, samples, pieces) / rates[index].flopsPerSecond;
  double memory = evaluate(way.bytes, samples, pieces) / (profile.bandwidth * share);
  double total = std::max(compute, memory) + profile.launch;
  return {.total = total, .launch = profile.launch, .memory = memory > compute ? memory : 0};
}

RegionTime TimeModel::time(size_t index, size_t variant, int64_t m) const {
  const Variant &way = problem.commands[index].variants[variant];
  if (way.slice == 0 || (way.slice >= m && way.pieces == 1))
    return atOnce(index, way, m, 1);
  RegionTime sum;
  auto add = [&](const RegionTime &each, int64_t times) {
    auto count = static_cast<double>(times);
    sum.total += count * each.total;
    sum.launch += count * each.launch;
    sum.memory += count * each.memory;
  };
  add(atOnce(index, way, way.slice, way.pieces), m / way.slice * way.pieces);
  if (int64_t rest = m % way.slice; rest > 0)
    add(atOnce(index, way, rest, way.pieces), way.pieces);
  return sum;
}

double TimeModel::seconds(int command, int variant, int64_t m) const {
  return time(static_cast<size_t>(command), static_cast<size_t>(variant), m).total;
}

std::array<RegionTime, 4> TimeModel::regions(int64_t m) const {
  std::array<RegionTime, 4> times{};
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    RegionTime one = command(index, m), &region = times[static_cast<int>(problem.commands[index].region)];
    region.total += one.total;
    region.launch += one.launch;
    region.memory += one.memory;
    region.again += problem.commands[index].cloneOf < 0 ? 0 : one.total;
  }
  return times;
}

std::vector<TimeLine> TimeModel::step(const Cut &cut, const Sharing &sharing) const {
  auto [prepass, prologue, micro, update] = regions(cut.m);
  double steps = static_cast<double>(cut.steps);
  std::vector<TimeLine> lines;
  if (prepass.total > 0)
    lines.push_back({"pre-pass", steps * prepass.total});
  if (prologue.total > 0)
    lines.push_back({"once per step", prologue.total});
  lines.push_back({"micro-steps", steps * (micro.total - micro.again)});
  if (micro.again > 0)
    lines.push_back({"recomputation", steps * micro.again});
  for (TimeLine &line : sharingTime(problem, profile, sharing, devices, cut.steps, update.total))
    lines.push_back(std::move(line));
  return lines;
}

double TimeModel::utilisation(int64_t samples, double seconds) const {
  double secondsAtPeak = 0;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    if (!rates[index].matrix || command.region != Region::Micro || command.cloneOf >= 0)
      continue;
    secondsAtPeak += evaluate(command.variants.front().flops, samples) / rates[index].peak;
  }
  return seconds > 0 ? secondsAtPeak / seconds : 0;
}

} // namespace accum::planner
