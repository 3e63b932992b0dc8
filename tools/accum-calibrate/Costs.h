// SPDX-License-Identifier: Apache-2.0
// What operations cost, from the times of kernels that do several.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace accum::calibrate {

/// A kernel: how much of each thing it does, and the seconds it takes.
struct Observation {
  std::map<std::string, double> amounts;
  double seconds = 0;
  double reference = 0; ///< Sample::reference
};

/// Seconds of one of each thing, none negative, so that the squared relative errors of all observations are
/// least.
std::map<std::string, double> fitCosts(const std::vector<Observation> &observations);

/// The mean relative error of costs over observations.
double meanError(const std::map<std::string, double> &costs, const std::vector<Observation> &observations);

} // namespace accum::calibrate
