// SPDX-License-Identifier: Apache-2.0
// Differences between two sets of named tensors, in double whatever their dtypes.
#ifndef ACCUM_DIFF_COMPARE_H
#define ACCUM_DIFF_COMPARE_H

#include "runtime/files/Array.h"

namespace accum::diff {

struct TensorDifference {
  std::string name;
  double absolute = 0;     ///< largest |a - b|; infinite where one side is NaN
  double magnitude = 0;    ///< largest |a| or |b|
  std::vector<int64_t> at; ///< index of the largest difference
  double a = 0, b = 0;     ///< the values there

  /// Largest difference over largest magnitude; 0 for two equal tensors.
  double relative() const { return absolute == 0 ? 0 : absolute / magnitude; }
};

struct Comparison {
  std::vector<TensorDifference> tensors; ///< worst relative difference first
  std::vector<std::string> onlyInA, onlyInB;
  std::vector<std::string> shapes; ///< "NAME: [2, 3] and [3, 2]"

  bool sameTensors() const { return onlyInA.empty() && onlyInB.empty() && shapes.empty(); }
  double worst() const { return tensors.empty() ? 0 : tensors.front().relative(); }
};

/// Names matching one of the `skipped` globs are left out.
Comparison compare(const std::vector<runtime::Array> &a, const std::vector<runtime::Array> &b,
                   const std::vector<std::string> &skipped);

/// Equal shapes.
TensorDifference compareTensors(const runtime::Array &a, const runtime::Array &b);

} // namespace accum::diff
#endif
