// SPDX-License-Identifier: Apache-2.0
// The plans of several sizes, which share one arena and one step.
#include "compiler/Driver/LengthPlans.h"
#include "base/FormatBytes.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "runtime/data/Division.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

namespace accum::driver {
namespace {

/// Of all samples, those that have this length.
double shareOf(const LengthOptions &lengths, size_t length) {
  if (length < lengths.shares.size())
    return lengths.shares[length];
  auto longest = [&](size_t of) { return double(std::ranges::max(lengths.sizes[of])); };
  return (longest(length) - (length > 0 ? longest(length - 1) : 0)) / longest(lengths.sizes.size() - 1);
}

/// A micro-batch, and what a micro-step of it takes.
struct Size {
  int64_t m = 1;
  double seconds = 0;
};

/// Those that fit, the largest first. What a step takes once is the plan's, whichever size it has.
std::vector<Size> sizesOf(const planner::Search &search) {
  const planner::Plan &plan = *search.plan;
  double own = microStepSeconds(plan), once = plan.seconds() - own * double(plan.cut.steps);
  std::vector<Size> sizes;
  for (const planner::Candidate &candidate : search.candidates) {
    bool fits = candidate.verdict == planner::Verdict::Chosen ||
                candidate.verdict == planner::Verdict::Slower ||
                candidate.verdict == planner::Verdict::MoreMemory;
    bool isPlan = candidate.cut.m == plan.cut.m;
    double seconds = (candidate.seconds - once) / double(candidate.cut.steps);
    auto known = std::ranges::find(sizes, candidate.cut.m, &Size::m);
    if (!fits || seconds <= 0 || known != sizes.end())
      continue;
    sizes.push_back({candidate.cut.m, isPlan ? own : seconds});
  }
  if (std::ranges::find(sizes, plan.cut.m, &Size::m) == sizes.end())
    sizes.push_back({plan.cut.m, own});
  return sizes;
}

/// Steps whose samples have lengths as they are expected.
class ForeseenBatches {
public:
  explicit ForeseenBatches(const Options &options) : devices(options.devices) {
    constexpr int kBatches = 16;
    constexpr int64_t kMost = 4096; // samples of a batch that are drawn
    int64_t samples = std::min(options.batch, kMost);
    scale = double(options.batch) / double(samples);
    std::vector<double> shares;
    for (size_t length = 0; length < options.lengths.sizes.size(); ++length)
      shares.push_back(shareOf(options.lengths, length));
    std::mt19937_64 generator(static_cast<uint64_t>(samples)); // the same batches every time
    std::discrete_distribution<size_t> draw(shares.begin(), shares.end());
    for (int batch = 0; batch < kBatches; ++batch) {
      auto &counts = all.emplace_back(shares.size(), 0);
      for (int64_t sample = 0; sample < samples; ++sample)
        ++counts[draw(generator)];
    }
  }

  /// Micro-steps of a step, by length, in the mean.
  std::vector<double> microSteps(const std::vector<Size> &sizes) const {
    std::vector<runtime::LengthSpec> lengths;
    std::vector<int64_t> capacity;
    for (const Size &size : sizes) {
      lengths.push_back({{}, size.m, size.seconds});
      capacity.push_back(size.m * devices);
    }
    std::vector<double> mean(sizes.size(), 0);
    for (const std::vector<int64_t> &counts : all) {
      std::vector<int64_t> moved = runtime::moveUp(counts, capacity, lengths);
      for (size_t length = 0; length < sizes.size(); ++length) {
        int64_t rounds = (moved[length] + capacity[length] - 1) / capacity[length];
        mean[length] += scale * double(rounds) / double(all.size());
      }
    }
    return mean;
  }

  double seconds(const std::vector<Size> &sizes) const {
    std::vector<double> steps = microSteps(sizes);
    double sum = 0;
    for (size_t length = 0; length < sizes.size(); ++length)
      sum += steps[length] * sizes[length].seconds;
    return sum;
  }

private:
  int64_t devices;
  double scale = 1; ///< a batch is so many times what is drawn
  std::vector<std::vector<int64_t>> all;
};

} // namespace

std::string textOf(const std::vector<int64_t> &sizes) { return fmt::format("{}", fmt::join(sizes, "x")); }

int64_t batchOf(const Options &options, size_t length) {
  auto asked = planner::parseMicroBatch(options.microBatchText);
  int64_t least = asked ? asked->min * options.devices : options.devices;
  auto samples = std::llround(shareOf(options.lengths, length) * double(options.batch));
  return std::max(std::min<int64_t>(options.batch, options.devices),
                  std::clamp<int64_t>(samples, std::min(least, options.batch), options.batch));
}

std::vector<int64_t> chooseMicroBatches(const Options &options,
                                        const std::vector<const planner::Search *> &searches) {
  ForeseenBatches batches(options);
  std::vector<std::vector<Size>> candidates;
  std::vector<size_t> chosen;
  for (const planner::Search *search : searches) {
    candidates.push_back(sizesOf(*search));
    auto own = std::ranges::find(candidates.back(), search->plan->cut.m, &Size::m);
    chosen.push_back(size_t(own - candidates.back().begin()));
  }
  auto seconds = [&](size_t length, size_t candidate) {
    std::vector<Size> sizes;
    for (size_t other = 0; other < candidates.size(); ++other)
      sizes.push_back(candidates[other][other == length ? candidate : chosen[other]]);
    return batches.seconds(sizes);
  };
  constexpr int kRounds = 3; // of one length after the other
  for (int round = 0; round < kRounds; ++round)
    for (size_t length = 0; length < candidates.size(); ++length) {
      double least = seconds(length, chosen[length]);
      for (size_t candidate = 0; candidate < candidates[length].size(); ++candidate)
        if (double found = seconds(length, candidate); found < least * (1 - 1e-3)) {
          least = found;
          chosen[length] = candidate;
        }
    }
  std::vector<int64_t> sizes;
  for (size_t length = 0; length < candidates.size(); ++length)
    sizes.push_back(candidates[length][chosen[length]].m);
  return sizes;
}

/// Lines that grow with the number of micro-steps.
static bool isPerMicroStep(const planner::TimeLine &line) {
  return line.name == "micro-steps" || line.name == "recomputation" || line.name == "feed" ||
         line.name == "encode";
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

planner::Plan planOfAll(const Options &options, const LengthPlans &plans) {
  planner::Plan all = *plans.back();
  all.memory = memoryOfAll(plans);
  all.scratch = (*std::ranges::max_element(plans, {}, &planner::Plan::scratch))->scratch;
  all.state = 0;
  for (const planner::MemoryLine &line : all.memory)
    all.state += line.kind == planner::MemoryClass::State ? line.bytes : 0;
  std::erase_if(all.time, isPerMicroStep);
  std::vector<Size> sizes;
  for (const planner::Plan *plan : plans)
    sizes.push_back({plan->cut.m, microStepSeconds(*plan)});
  std::vector<double> steps = ForeseenBatches(options).microSteps(sizes);
  for (size_t length = 0; length < plans.size(); ++length)
    for (planner::TimeLine line : plans[length]->time) {
      if (!isPerMicroStep(line))
        continue;
      line.seconds *= steps[length] / double(plans[length]->cut.steps);
      if (auto own = std::ranges::find(all.time, line.name, &planner::TimeLine::name); own != all.time.end())
        own->seconds += line.seconds;
      else
        all.time.push_back(line);
    }
  return all;
}

MicroStepLine microStepLine(const planner::Search &search) {
  std::vector<Size> sizes = sizesOf(search);
  auto [least, most] = std::ranges::minmax_element(sizes, {}, &Size::m);
  if (least->m == most->m)
    return {least->seconds / double(least->m), 0};
  double perSample = (most->seconds - least->seconds) / double(most->m - least->m);
  return {perSample, std::max(least->seconds - perSample * double(least->m), 0.0)};
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

std::vector<planner::report::LengthRow> lengthRows(const Options &options, const LengthPlans &plans) {
  std::vector<planner::report::LengthRow> rows;
  for (size_t length = 0; length < plans.size(); ++length) {
    const planner::Plan &plan = *plans[length];
    const std::vector<int64_t> &sizes = options.lengths.sizes[length];
    rows.push_back({textOf(sizes), plan.cut.m, microStepSeconds(plan), plan.cut.m * std::ranges::max(sizes),
                    plan.arena()});
  }
  return rows;
}

std::string describeLengths(const Options &options, const LengthPlans &plans, int64_t budget) {
  const planner::Plan all = planOfAll(options, plans);
  std::string text = fmt::format("lengths  {:>14}  micro-batch  per micro-step    per place     arena\n",
                                 fmt::join(options.lengths.dims, " x "));
  for (const planner::report::LengthRow &row : lengthRows(options, plans))
    text +=
        fmt::format("         {:>14}  {:>11}  {:>14}  {:>11}  {:>8}\n", row.size, row.microBatch,
                    planner::formatSeconds(row.seconds),
                    fmt::format("{:.2f} us", 1e6 * row.seconds / double(row.places)), formatBytes(row.arena));
  std::string of = budget > 0 ? " of " + formatBytes(budget) : "";
  text += fmt::format("memory   per device: arena {}, total {}{}; {}\n", formatBytes(all.arena()),
                      formatBytes(all.total()), of,
                      all.shard == "none" && all.offload == "none"
                          ? "not sharded"
                          : fmt::format("--shard {} --offload {}", all.shard, all.offload));
  return text + fmt::format("time     {} per step (predicted, {}), where lengths are {}\n",
                            planner::formatSeconds(all.seconds()), all.basis,
                            options.lengths.shares.empty() ? "spread evenly" : "those of --lengths");
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
