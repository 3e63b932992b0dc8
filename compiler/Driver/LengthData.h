// SPDX-License-Identifier: Apache-2.0
// How long samples are, and the sizes that suit them.
#pragma once

#include "runtime/system/Status.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace accum::driver {

/// Samples by length: entry i has length i + 1.
using LengthCounts = std::vector<int64_t>;

/// An input of the model whose axis is the dimension, as `PaddedInput` says.
struct LengthInput {
  std::string name;
  int64_t axis = 1;
  double fill = 0;
  bool isMask = false;
};

/// Of a data file (see readData in runtime/files/DataFiles.h), or of a text of lines `length count`. At most
/// `longest`. Slugs `missing-file`, `bad-data` (3).
runtime::Expected<LengthCounts> readLengths(const std::string &path, const std::vector<LengthInput> &inputs,
                                            int64_t longest);

/// Seconds of a micro-step of m samples of one size: perSample(size) * m + perMicroStep.
struct LengthCost {
  std::function<double(int64_t)> perSample;
  double perMicroStep = 0;
  int64_t batch = 1; ///< samples of a device's step

  /// Of a step's samples with one size, a `share` of all. Larger micro-batches leave more rows empty, smaller
  /// ones are more micro-steps: with the best of them both together take the square root of 2 n a b, for n
  /// samples, a a sample and b a micro-step. Half of that is left where samples move up to the next size, as
  /// measured on drawn batches.
  double seconds(int64_t size, double share) const;
};

/// At most `count` sizes, ascending, the last one `longest`, with which a step takes the least time; by
/// dynamic programming over multiples of `kSizeStep`.
std::vector<int64_t> chooseSizes(const LengthCounts &counts, int64_t longest, int64_t count,
                                 const LengthCost &cost);
double stepSeconds(const LengthCounts &counts, const std::vector<int64_t> &sizes, const LengthCost &cost);

/// Of all samples, those that have each of the sizes.
std::vector<double> sharesOf(const LengthCounts &counts, const std::vector<int64_t> &sizes);

/// What a step would take with fewer sizes, a line each.
std::string compareCounts(const LengthCounts &counts, int64_t longest, int64_t count, const LengthCost &cost);

/// At `x`, of the polynomial through all points.
double interpolate(const std::vector<std::pair<double, double>> &points, double x);

/// `longest`, half of it, and so on.
std::vector<int64_t> ladder(int64_t longest, int64_t count);

} // namespace accum::driver
