// SPDX-License-Identifier: Apache-2.0
// Which gradients are all-reduced while the last micro-step still runs, and after which command they start.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace accum::planner {

/// Gradients [first, last] in the order of the state, which are final after command `after`.
struct GradientBucket {
  size_t after;
  size_t first, last;
  int64_t bytes;
  bool operator==(const GradientBucket &) const = default;
};

/// A gradient that no command of the micro-step contributes to: in no bucket.
inline constexpr size_t kNeverFinal = SIZE_MAX;

/// The least bytes of a bucket, for so many bytes of gradients: large enough for a link's full rate, and
/// several to a step.
int64_t leastBucketBytes(int64_t allBytes);

/// In the order in which they are sent. `bytes[i]` is what gradient i takes in the state, padding included,
/// `finalAfter[i]` the number of the last command that contributes to it. Neighbours that are final and not
/// sent yet are sent as soon as they have `leastBucketBytes`, but nothing after the last command `end`,
/// where no command is left to run alongside. docs/decisions/overlapped-all-reduce.md.
std::vector<GradientBucket> gradientBuckets(const std::vector<int64_t> &bytes,
                                            const std::vector<size_t> &finalAfter, size_t end);

} // namespace accum::planner
