// SPDX-License-Identifier: Apache-2.0
// Words for choices and differences.
#include "compiler/Planner/Search/Reasons.h"
#include "compiler/Planner/Problem/Quantity.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace accum::planner {

std::string describeRecomputation(const Problem &problem, const TimeModel &times, const Choice &choice) {
  std::map<std::string, double> byKernel;
  int again = 0, all = 0;
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    all += problem.isMain(command) && !command.tail ? 1 : 0;
    if (choice.recomputed[index] == 0)
      continue;
    ++again;
    byKernel[command.kernel] += times.seconds(static_cast<int>(index), choice.variants[index], 1);
  }
  if (again == 0)
    return {};
  std::vector<std::pair<double, std::string>> kernels;
  for (const auto &[kernel, seconds] : byKernel)
    kernels.emplace_back(-seconds, kernel);
  std::ranges::sort(kernels);
  std::string names = kernels[0].second;
  if (kernels.size() > 1)
    names += ", " + kernels[1].second;
  return fmt::format("{} of {} commands ({}{})", again, all, names, kernels.size() > 2 ? ", ..." : "");
}

std::string describeSlices(const Problem &problem, const Choice &choice, int64_t m) {
  for (size_t index = 0; index < choice.variants.size(); ++index) {
    const Variant &way = problem.commands[index].variants[choice.variants[index]];
    if (way.slice > 0 && way.pieces > 1)
      return fmt::format("loss in slices of 1/{} sample", way.pieces);
    if (way.slice > 0 && way.slice < m)
      return fmt::format("loss in slices of {} sample{}", way.slice, way.slice == 1 ? "" : "s");
  }
  return {};
}

std::string describeSharing(const Sharing &sharing, int64_t devices, const Problem &runs,
                            const UnitRoom &room) {
  std::string text = "not sharded";
  if (sharing.shard == Shard::None && devices > 1)
    text += ", 1 all-reduce per step";
  if (sharing.shard != Shard::None)
    text = fmt::format("{}, gradients reduced {}", toText(sharing.shard),
                       sharing.reduceEach ? "and scattered in each micro-step" : "once per step");
  bool hasMoments = std::ranges::any_of(runs.fixed, [](const FixedMemory &line) {
    return line.role == StateRole::Optimizer || line.role == StateRole::Master;
  });
  if (sharing.offload != Offload::None)
    text += fmt::format(", {} offloaded", sharing.offload == Offload::Optimizer ? "optimizer state"
                                          : hasMoments ? "parameters and optimizer state"
                                                       : "parameters");
  bool isOffloaded = sharing.offload == Offload::Parameters, cuts = sharing.cutsParameters(devices);
  auto timeline = cuts || isOffloaded ? unitTimeline(runs, unitUse(sharing, devices), room) : std::nullopt;
  if (timeline && timeline->isReadAhead())
    text += cuts && timeline->isGatheredAhead() ? ", weights gathered ahead" : ", weights fetched ahead";
  return text;
}

std::string whySlower(const SearchSpace &points, int point, int chosen, int64_t samples) {
  const Cut &cut = points.cut(point), &best = points.cut(chosen);
  std::vector<std::string> reasons;
  auto count = [](int64_t n, const char *one, const char *many) {
    return fmt::format("{} {}", n == 1 ? "one" : fmt::format("{}", n), n == 1 ? one : many);
  };
  if (int64_t padded = cut.m * cut.steps - samples; padded > 0)
    reasons.push_back(count(padded, "padded row", "padded rows"));
  if (int again = points.alternative(point).recomputed; again > 0)
    reasons.push_back(count(again, "command recomputed", "commands recomputed"));
  auto slicesOf = [&](int which) {
    return describeSlices(points.asked(), points.alternative(which).choice, points.cut(which).m);
  };
  if (std::string slices = points.haveSlices() ? slicesOf(point) : std::string();
      !slices.empty() && slices != slicesOf(chosen))
    reasons.push_back(slices);
  if (points.sharing(point) != points.sharing(chosen))
    reasons.push_back(toText(points.sharing(point).shard));
  const RegionTime &micro = points.micro(point), &bestMicro = points.micro(chosen);
  if (micro.launch / micro.total > 0.3)
    reasons.push_back("launch-bound");
  else if (micro.memory / micro.total > bestMicro.memory / bestMicro.total + 0.05)
    reasons.push_back("more time waits for memory");
  if (cut.steps > best.steps)
    reasons.push_back(count(cut.steps - best.steps, "more micro-step", "more micro-steps"));
  else if (reasons.empty() && cut.steps < best.steps)
    reasons.push_back("the time per sample is higher");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

} // namespace accum::planner
