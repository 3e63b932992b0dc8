// SPDX-License-Identifier: Apache-2.0
// Goes through the commands that make gradients final, and looks at each one's neighbours.
#include "compiler/Planner/Time/GradientBuckets.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace accum::planner {
namespace {

// An estimate, not measured: a few tenths of a millisecond on a fast link, many times its latency.
constexpr int64_t kEnoughBytes = 32 << 20;
constexpr int64_t kPieces = 8;

/// Final gradients that wait for neighbours.
class Waiting {
public:
  explicit Waiting(const std::vector<int64_t> &bytes) : bytes(bytes), waits(bytes.size()) {}

  void add(size_t gradient) { waits[gradient] = true; }
  /// The bucket around a gradient that waits.
  GradientBucket around(size_t gradient, size_t after) const {
    GradientBucket bucket{after, gradient, gradient, 0};
    while (bucket.first > 0 && waits[bucket.first - 1])
      --bucket.first;
    while (bucket.last + 1 < waits.size() && waits[bucket.last + 1])
      ++bucket.last;
    bucket.bytes = std::accumulate(bytes.begin() + ptrdiff_t(bucket.first),
                                   bytes.begin() + ptrdiff_t(bucket.last) + 1, int64_t(0));
    return bucket;
  }
  bool has(size_t gradient) const { return waits[gradient]; }
  void take(const GradientBucket &bucket) {
    std::fill(waits.begin() + ptrdiff_t(bucket.first), waits.begin() + ptrdiff_t(bucket.last) + 1, false);
  }

private:
  const std::vector<int64_t> &bytes;
  std::vector<bool> waits;
};

} // namespace

int64_t leastBucketBytes(int64_t allBytes) {
  return std::clamp<int64_t>(allBytes / kPieces, 1, kEnoughBytes);
}

std::vector<GradientBucket> gradientBuckets(const std::vector<int64_t> &bytes,
                                            const std::vector<size_t> &finalAfter, size_t end) {
  int64_t least = leastBucketBytes(std::accumulate(bytes.begin(), bytes.end(), int64_t(0)));
  std::map<size_t, std::vector<size_t>> finalBehind;
  for (size_t i = 0; i < finalAfter.size(); ++i)
    if (finalAfter[i] < end)
      finalBehind[finalAfter[i]].push_back(i);
  Waiting waiting(bytes);
  std::vector<GradientBucket> buckets;
  for (const auto &[command, gradients] : finalBehind) {
    for (size_t gradient : gradients)
      waiting.add(gradient);
    for (size_t gradient : gradients) {
      GradientBucket bucket = waiting.around(gradient, command);
      if (!waiting.has(gradient) || bucket.bytes < least) // or sent with a neighbour
        continue;
      waiting.take(bucket);
      buckets.push_back(bucket);
    }
  }
  return buckets;
}

} // namespace accum::planner
