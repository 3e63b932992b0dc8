// SPDX-License-Identifier: Apache-2.0
// Non-negative least squares by coordinates: each step is exact, the problem is convex and has some thirty
// unknowns.
#include "tools/accum-calibrate/Costs.h"
#include <algorithm>
#include <cmath>

namespace accum::calibrate {

namespace {

double predict(const std::map<std::string, double> &costs, const Observation &observation) {
  double seconds = 0;
  for (const auto &[thing, amount] : observation.amounts)
    seconds += costs.at(thing) * amount;
  return seconds;
}

} // namespace

std::map<std::string, double> fitCosts(const std::vector<Observation> &observations) {
  constexpr int kRounds = 3000;
  std::map<std::string, double> costs;
  for (const Observation &observation : observations)
    for (const auto &[thing, amount] : observation.amounts)
      costs[thing] = 0;
  std::vector<double> rest(observations.size(), 1); // of each observation, in parts of its time
  for (int round = 0; round < kRounds; ++round)
    for (auto &[thing, cost] : costs) {
      double gradient = 0, curvature = 0;
      for (size_t i = 0; i < observations.size(); ++i)
        if (auto amount = observations[i].amounts.find(thing); amount != observations[i].amounts.end()) {
          double part = amount->second / observations[i].seconds;
          gradient += rest[i] * part;
          curvature += part * part;
        }
      double change = std::max(-cost, curvature > 0 ? gradient / curvature : 0);
      cost += change;
      for (size_t i = 0; i < observations.size() && change != 0; ++i)
        if (auto amount = observations[i].amounts.find(thing); amount != observations[i].amounts.end())
          rest[i] -= change * amount->second / observations[i].seconds;
    }
  return costs;
}

double meanError(const std::map<std::string, double> &costs, const std::vector<Observation> &observations) {
  double sum = 0;
  for (const Observation &observation : observations)
    sum += std::abs(predict(costs, observation) / observation.seconds - 1);
  return observations.empty() ? 0 : sum / static_cast<double>(observations.size());
}

} // namespace accum::calibrate
