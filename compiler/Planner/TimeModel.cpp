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

double evaluate(const Amount &amount, int64_t m) {
  if (!amount.table.empty())
    return static_cast<double>(amount.at(m));
  return static_cast<double>(amount.fixed) + static_cast<double>(amount.perSample) * static_cast<double>(m);
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

RegionTime TimeModel::atOnce(size_t index, const Variant &way, int64_t samples) const {
  double compute = evaluate(way.flops, samples) / rates[index].flopsPerSecond;
  double memory = evaluate(way.bytes, samples) / (profile.bandwidth * share);
  double total = std::max(compute, memory) + profile.launch;
  return {.total = total, .launch = profile.launch, .memory = memory > compute ? memory : 0};
}

RegionTime TimeModel::time(size_t index, size_t variant, int64_t m) const {
  const Variant &way = problem.commands[index].variants[variant];
  if (way.slice == 0 || way.slice >= m)
    return atOnce(index, way, m);
  RegionTime each = atOnce(index, way, way.slice),
             last = m % way.slice == 0 ? RegionTime() : atOnce(index, way, m % way.slice);
  auto count = static_cast<double>(m / way.slice);
  return {.total = count * each.total + last.total,
          .launch = count * each.launch + last.launch,
          .memory = count * each.memory + last.memory};
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
