// SPDX-License-Identifier: Apache-2.0
// The plans of several sizes, which share one arena and one step.
#include "compiler/Driver/LengthPlans.h"
#include "compiler/Planner/Problem/Quantity.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accum::driver {

std::string textOf(const std::vector<int64_t> &sizes) { return fmt::format("{}", fmt::join(sizes, "x")); }

int64_t batchOf(const Options &options, size_t length) {
  const LengthOptions &lengths = options.lengths;
  double share = length < lengths.shares.size() ? lengths.shares[length] : 1.0 / double(lengths.sizes.size());
  return std::clamp<int64_t>(std::llround(share * double(options.batch)), options.devices, options.batch);
}

/// Lines that grow with the number of micro-steps.
static bool isPerMicroStep(const planner::TimeLine &line) {
  return line.name == "micro-steps" || line.name == "recomputation" || line.name == "feed";
}

double microStepSeconds(const planner::Plan &plan) {
  double seconds = 0;
  for (const planner::TimeLine &line : plan.time)
    seconds += isPerMicroStep(line) ? line.seconds : 0;
  return seconds / double(plan.cut.steps);
}

/// Scratch is one line of several parts: the plan with most of it says which.
std::vector<planner::MemoryLine> memoryOfAll(const LengthPlans &plans) {
  const planner::Plan *most = *std::ranges::max_element(plans, {}, &planner::Plan::scratch);
  std::vector<planner::MemoryLine> lines = most->memory;
  for (const planner::Plan *plan : plans)
    for (const planner::MemoryLine &line : plan->memory) {
      if (line.kind == planner::MemoryClass::Scratch)
        continue;
      auto known = std::ranges::find_if(lines, [&](const planner::MemoryLine &other) {
        return other.kind == line.kind && other.name == line.name;
      });
      if (known == lines.end())
        lines.push_back(line);
      else
        known->bytes = std::max(known->bytes, line.bytes);
    }
  return lines;
}

planner::Plan planOfAll(const LengthPlans &plans) {
  planner::Plan all = *plans.back();
  all.memory = memoryOfAll(plans);
  all.scratch = (*std::ranges::max_element(plans, {}, &planner::Plan::scratch))->scratch;
  all.state = 0;
  for (const planner::MemoryLine &line : all.memory)
    all.state += line.kind == planner::MemoryClass::State ? line.bytes : 0;
  for (const planner::Plan *plan : plans)
    for (const planner::TimeLine &line : plan->time)
      if (auto own = std::ranges::find(all.time, line.name, &planner::TimeLine::name);
          plan != plans.back() && isPerMicroStep(line) && own != all.time.end())
        own->seconds += line.seconds;
  return all;
}

mlir::ArrayAttr lengthsAttr(mlir::Builder &builder, const Options &options, const LengthPlans &plans) {
  llvm::SmallVector<mlir::Attribute> entries;
  for (size_t length = 0; length < plans.size(); ++length)
    entries.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(options.lengths.sizes[length])),
         builder.getNamedAttr("m", builder.getI64IntegerAttr(plans[length]->cut.m)),
         builder.getNamedAttr("seconds", builder.getF64FloatAttr(microStepSeconds(*plans[length])))}));
  return builder.getArrayAttr(entries);
}

std::string describeLengths(const Options &options, const LengthPlans &plans) {
  std::string text = fmt::format("lengths  {:>14}  micro-batch  per micro-step    per place     arena\n",
                                 fmt::join(options.lengths.dims, " x "));
  for (size_t length = 0; length < plans.size(); ++length) {
    const planner::Plan &plan = *plans[length];
    double seconds = microStepSeconds(plan);
    int64_t places = plan.cut.m * std::ranges::max(options.lengths.sizes[length]);
    text += fmt::format("         {:>14}  {:>11}  {:>14}  {:>11}  {:>8}\n", textOf(options.lengths.sizes[length]),
                        plan.cut.m, planner::formatSeconds(seconds),
                        fmt::format("{:.2f} us", 1e6 * seconds / double(places)),
                        planner::formatBytes(plan.arena()));
  }
  return text;
}

nlohmann::ordered_json lengthsJson(const Options &options, const LengthPlans &plans) {
  auto list = nlohmann::ordered_json::array();
  for (size_t length = 0; length < plans.size(); ++length) {
    nlohmann::ordered_json sizes;
    for (size_t dim = 0; dim < options.lengths.dims.size(); ++dim)
      sizes[options.lengths.dims[dim]] = options.lengths.sizes[length][dim];
    list.push_back({{"sizes", sizes},
                    {"micro_batch", plans[length]->cut.m},
                    {"seconds", microStepSeconds(*plans[length])},
                    {"arena", plans[length]->arena()},
                    {"counted", plans[length]->counted()}});
  }
  return list;
}

} // namespace accum::driver
