// SPDX-License-Identifier: Apache-2.0
// All measurements in their order, and the profile that they make.
#pragma once
#include "compiler/Planner/Time/DeviceProfile.h"
#include "tools/accum-calibrate/Costs.h"
#include "tools/accum-calibrate/Grid.h"
#include "tools/accum-calibrate/LibraryCalls.h"
#include "tools/accum-calibrate/Remaining.h"
#include "tools/accum-calibrate/Results.h"

namespace accum::calibrate {

/// Progress for people: what is measured, how many of how many, and the seconds that everything still takes
/// at the speed seen so far; none while nothing has been seen.
using Progress = void (*)(const std::string &what, size_t done, size_t all, std::optional<double> left);

class Calibration {
public:
  Calibration(planner::DeviceProfile base, int threads, bool coarse, Results &results, Progress progress)
      : profile(std::move(base)), threads(threads), coarse(coarse), results(results), progress(progress) {}

  /// Measures what `results` lacks. Exit code 5, slug `stopped`, when `stop` says so: what there is stays.
  runtime::Status run(bool (*stop)());
  const planner::DeviceProfile &result() const { return profile; }
  /// What is worth saying about the figures, one line each.
  std::vector<std::string> summary() const;

private:
  runtime::Status measureGrid(LibraryCalls &calls, const Grid &grid, bool (*stop)());
  runtime::Status measureMisses(LibraryCalls &calls, bool (*stop)());
  runtime::Status measureKernels(LibraryCalls &calls, bool (*stop)());
  runtime::Status measure(LibraryCalls &calls, const std::vector<Grid> &grids, bool (*stop)());
  /// Measured before, brought to the speed of the whole calibration.
  Sample known(const std::string &key) const;
  void fillTable(const Grid &grid);
  void fillMisses();
  double fetchSeconds() const;
  void fitKernels();
  runtime::Expected<Sample> once(const std::string &key,
                                 const std::function<runtime::Expected<Sample>()> &measure);
  double bestRate(const std::string &dtype) const;
  void setRates();

  planner::DeviceProfile profile;
  int threads;
  bool coarse;
  Results &results;
  Progress progress;
  std::vector<Observation> observations;
  double kernelError = 0;
  bool linked = false;
  Remaining remaining;
};

} // namespace accum::calibrate
