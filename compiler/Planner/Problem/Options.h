// SPDX-License-Identifier: Apache-2.0
// What the user may ask of a search, and the enumeration of micro-batch sizes that follows from it.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include "compiler/Planner/Problem/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accum::planner {

class AlternativeCache;

/// `--micro-batch auto|N|none|MIN..MAX`.
struct MicroBatch {
  enum Kind { Auto, Forced, None, Range } kind = Auto;
  int64_t min = 1;         ///< of a Range; the size itself when Forced
  int64_t max = INT64_MAX; ///< of a Range
};

/// Reads the flag's value; open ranges (`8..`, `..64`) are allowed. Slug `usage`.
Result<MicroBatch> parseMicroBatch(const std::string &text);

struct Options {
  int64_t batch = 1; ///< samples per optimizer step over all devices
  int64_t devices = 1;
  MicroBatch microBatch = {};
  std::optional<int64_t> accumulationSteps = {}; ///< instead of microBatch
  bool requireDivisible = false;
  std::optional<int64_t> budget = {}; ///< bytes per device; default: what the profile says is usable
  /// `auto`: search; `none`: keep everything; `all`: for each size the alternative with the lowest peak,
  /// whatever it costs.
  std::string recompute = "auto";
  /// auto, none, zero1 (optimizer state), zero2 (and gradients), zero3 (and parameters).
  std::string shard = "none";
  /// auto, none, optimizer, parameters: what lies off the device.
  std::string offload = "none";
  /// Which of what fits: `speed` the fastest, `memory` what needs the least, `balanced` what needs the least
  /// of all that is as fast as the fastest within what the time model can tell.
  std::string prefer = "balanced";
  uint64_t seed = 0;      ///< of what is random in packing
  Deadline deadline = {}; ///< soon after it the search ends with what it has
  /// Of the same problem and profile, where several searches share what they find.
  AlternativeCache *known = nullptr;
};

/// A cut of the device batch: K micro-steps of m samples, `last` real ones in the last.
struct Cut {
  int64_t m = 1;
  int64_t steps = 1;
  int64_t last = 1;
  bool operator==(const Cut &) const = default;
};

/// Samples of the fullest device, ceil(batch / devices).
int64_t deviceBatch(const Options &options);

struct Cuts {
  std::vector<Cut> cuts = {}; ///< distinct in K and in m, largest m first
  std::vector<std::string> notices = {};
};

/// Every size worth comparing: for each number of micro-steps the smallest m allowed, ceil(deviceBatch / K)
/// unless a range asks for more. Slug `usage` where the options contradict themselves or leave nothing.
/// Slug `not-divisible` where `requireDivisible` leaves none.
Result<Cuts> enumerateCuts(const Options &options);

} // namespace accum::planner
