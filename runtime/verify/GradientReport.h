// SPDX-License-Identifier: Apache-2.0
// What a verification says about the gradient.
#ifndef ACCUM_RUNTIME_VERIFY_GRADIENTREPORT_H
#define ACCUM_RUNTIME_VERIFY_GRADIENTREPORT_H

#include "runtime/verify/Direction.h"
#include <array>
#include <string>

namespace accum::runtime::verify {

/// In the place of a tensor's number.
constexpr size_t kAllTensors = SIZE_MAX;

/// What was seen along one kind of direction.
struct AlongReport {
  struct Worst {
    double error = 0;
    std::string name;
    size_t tensor = kAllTensors;
    void take(double other, const std::string &tensor);
  };
  int64_t fine = 0, coarse = 0; ///< that agree; coarse: as far as rounding shows
  Worst worst, worstCoarse;
  std::vector<std::string> kinked, tooSmall, heldBack;
};

class GradientReport {
public:
  struct Limits {
    double tolerance, coarse;
  };

  /// `heldBack`: the model itself withholds a part of this gradient, so that it is no derivative.
  void add(Along along, size_t tensor, const std::string &name, const Slope &slope, const Limits &limits,
           bool heldBack);
  void say(const Trial &trial, const std::array<Limits, 2> &limits) const;

  /// Beyond the tolerance, in the order in which they were looked at.
  const std::vector<AlongReport::Worst> &wrong() const { return wrongOnes; }

private:
  std::array<AlongReport, 2> reports; ///< by Along
  std::vector<AlongReport::Worst> wrongOnes;
};

} // namespace accum::runtime::verify
#endif
