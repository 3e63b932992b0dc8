// SPDX-License-Identifier: Apache-2.0
// The sizes worth comparing, and what of the options is a contradiction.
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Quantity.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace accum::planner {

namespace {

/// Sizes compared at most: 2 * sqrt(device batch) of them reach it at a billion samples per device.
constexpr size_t kMaxCuts = 65536;
constexpr int64_t kMaxBatch = int64_t{1} << 40;
constexpr int64_t kMaxDevices = int64_t{1} << 20;

Error usage(std::string message, std::vector<std::string> notes = {}) {
  return {std::move(message), "usage", std::move(notes)};
}

Error notDivisible(std::string message) {
  return {std::move(message),
          "not-divisible",
          {"without --require-divisible the last micro-step is smaller, or a device idles in it; the loss "
           "and the "
           "gradients are the same"}};
}

int64_t ceilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

bool parsePositive(std::string_view text, int64_t &value) {
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size() && value >= 1;
}

Status checkOptions(const Options &options) {
  if (options.batch < 1 || options.batch > kMaxBatch)
    return usage(fmt::format("--batch is {}, expected 1 to {}", options.batch, kMaxBatch));
  if (options.devices < 1 || options.devices > kMaxDevices)
    return usage(fmt::format("--devices is {}, expected 1 to {}", options.devices, kMaxDevices));
  if (options.accumulationSteps && options.microBatch.kind != MicroBatch::Auto)
    return usage("--micro-batch and --accumulation-steps are both given; each decides the other");
  if (options.accumulationSteps && *options.accumulationSteps < 1)
    return usage(fmt::format("--accumulation-steps is {}, expected at least 1", *options.accumulationSteps));
  if (options.budget && *options.budget < 1)
    return usage(fmt::format("the memory budget is {} bytes, expected at least 1", *options.budget));
  if (options.recompute != "auto" && options.recompute != "none" && options.recompute != "all")
    return usage(fmt::format("--recompute is `{}`, expected auto, none or all", options.recompute));
  if (options.prefer != "balanced" && options.prefer != "speed" && options.prefer != "memory")
    return usage(fmt::format("--prefer is `{}`, expected balanced, speed or memory", options.prefer));
  return {};
}

/// The smallest and largest m that the options allow, before the device batch cuts them off.
MicroBatch allowedSizes(const Options &options, int64_t samples) {
  if (options.accumulationSteps) {
    int64_t m = ceilDiv(samples, *options.accumulationSteps);
    return {MicroBatch::Forced, m, m};
  }
  switch (options.microBatch.kind) {
  case MicroBatch::Auto:
    return {MicroBatch::Auto, 1, samples};
  case MicroBatch::None:
    return {MicroBatch::None, samples, samples};
  case MicroBatch::Forced:
    return {MicroBatch::Forced, options.microBatch.min, options.microBatch.min};
  case MicroBatch::Range:
    break;
  }
  return {MicroBatch::Range, options.microBatch.min, std::min(options.microBatch.max, samples)};
}

/// Where no micro-batch leads to the number of steps that was asked for, a sentence that says so.
std::optional<std::string> otherSteps(const Options &options, int64_t samples, const Cut &cut) {
  if (!options.accumulationSteps || *options.accumulationSteps == cut.steps)
    return std::nullopt;
  return fmt::format("{} over {} per device: micro-batch {} needs {}",
                     countOf(*options.accumulationSteps, "accumulation step"), countOf(samples, "sample"),
                     cut.m, cut.steps);
}

void addNotices(const Options &options, int64_t samples, const Cut &cut, Cuts &result) {
  if (auto other = otherSteps(options, samples, cut))
    result.notices.push_back(*other);
  bool isAsked = options.microBatch.kind == MicroBatch::Forced || options.accumulationSteps;
  if (cut.last == cut.m || !isAsked)
    return;
  int64_t even = ceilDiv(samples, cut.steps);
  result.notices.push_back(fmt::format(
      "micro-batch {}: the last of {} micro-steps holds {}{}", cut.m, cut.steps, countOf(cut.last, "sample"),
      even == cut.m ? "" : fmt::format("; the even size of {} steps is {}", cut.steps, even)));
}

/// Devices hold one block of samples after the other, all of one size but the last: some may be left without.
void addIdleDevices(const Options &options, int64_t samples, Cuts &result) {
  int64_t busy = ceilDiv(options.batch, samples);
  if (int64_t idle = options.devices - busy; idle > 0)
    result.notices.push_back(fmt::format(
        "{} over {} devices, at most {} each: {} none in any step", countOf(options.batch, "sample"),
        options.devices, samples, idle == 1 ? "one device has" : fmt::format("{} devices have", idle)));
}

/// A script may ask for the same mode on any number of devices.
void addPointlessShard(const Options &options, Cuts &result) {
  bool isAsked = options.shard != "none" && options.shard != "auto";
  if (isAsked && options.devices == 1)
    result.notices.push_back(
        fmt::format("--shard {}: one device has all of the state, as with none; --devices divides it, "
                    "--offload keeps it off the device",
                    options.shard));
}

} // namespace

Result<MicroBatch> parseMicroBatch(const std::string &text) {
  if (text == "auto")
    return MicroBatch{};
  if (text == "none")
    return MicroBatch{MicroBatch::None};
  if (text == "explore" || text.starts_with("explore:"))
    return usage("--micro-batch explore is for accumc, which compiles and times programs");
  MicroBatch range{MicroBatch::Range};
  size_t dots = text.find("..");
  if (dots == std::string::npos && parsePositive(text, range.min))
    return MicroBatch{MicroBatch::Forced, range.min, range.min};
  if (dots != std::string::npos && text.size() > 2) {
    std::string low = text.substr(0, dots), high = text.substr(dots + 2);
    if ((low.empty() || parsePositive(low, range.min)) && (high.empty() || parsePositive(high, range.max)) &&
        range.min <= range.max)
      return range;
  }
  return usage(
      fmt::format("--micro-batch is `{}`, expected auto, none, a positive number or MIN..MAX", text));
}

int64_t deviceBatch(const Options &options) { return ceilDiv(options.batch, options.devices); }

Result<Cuts> enumerateCuts(const Options &options) {
  if (Status status = checkOptions(options); !status)
    return status.error();
  int64_t samples = deviceBatch(options);
  MicroBatch allowed = allowedSizes(options, samples);
  if (allowed.min > samples)
    return usage(fmt::format("micro-batch {} is larger than the per-device batch {}", allowed.min, samples));
  if (options.requireDivisible && options.batch % options.devices != 0)
    return notDivisible(fmt::format("--require-divisible: a batch of {} does not divide over {} devices",
                                    options.batch, options.devices));
  Cuts result;
  for (int64_t m = allowed.max; m >= allowed.min;) {
    int64_t steps = ceilDiv(samples, m);
    m = std::max(allowed.min, ceilDiv(samples, steps));
    result.cuts.push_back({m, steps, samples - (steps - 1) * m});
    if (result.cuts.size() > kMaxCuts)
      return usage(fmt::format("a per-device batch of {} has more than {} sizes", samples, kMaxCuts),
                   {"--micro-batch MIN..MAX narrows the search"});
    --m;
  }
  if (auto other = otherSteps(options, samples, result.cuts.front()); other && options.requireDivisible)
    return usage("--require-divisible: " + *other,
                 {fmt::format("--accumulation-steps {}, or without --require-divisible the same",
                              result.cuts.front().steps)});
  if (options.requireDivisible &&
      std::none_of(result.cuts.begin(), result.cuts.end(), [](const Cut &cut) { return cut.last == cut.m; }))
    return notDivisible(
        fmt::format("--require-divisible: no allowed micro-batch divides the per-device batch {}; "
                    "{} leaves {} in the last of {}",
                    samples, result.cuts[0].m, countOf(result.cuts[0].last, "sample"),
                    countOf(result.cuts[0].steps, "micro-step")));
  addIdleDevices(options, samples, result);
  addPointlessShard(options, result);
  if (result.cuts.size() == 1)
    addNotices(options, samples, result.cuts.front(), result);
  return result;
}

} // namespace accum::planner
