// SPDX-License-Identifier: Apache-2.0
// Tensor by tensor.
#include "runtime/verify/Difference.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime::verify {
namespace {

/// How much more than by a change of the parameters in their last digits another order of sums may move a
/// step.
constexpr double kMoreThanShaken = 8;

double largest(const std::vector<double> &values) {
  double most = 0;
  for (double value : values)
    most = std::isnan(value) ? INFINITY : std::max(most, std::fabs(value));
  return most;
}

double length(const std::vector<double> &values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::isnan(squares) ? INFINITY : std::sqrt(squares);
}

double sizeOf(const std::vector<double> &values, const Measure &measure) {
  return measure.isNorm ? length(values) : largest(values);
}

} // namespace

Measure Measure::ofSingle() { return {1e-3, 1e-4, 0x1p-20}; }
Measure Measure::ofDouble() { return {1e-3, 1e-9, 0x1p-49}; }
Measure Measure::ofBf16() { return {0.1, 5e-2, 0x1p-9, true}; }

double allowedOf(double tolerance, double noise) { return std::max(tolerance, kMoreThanShaken * noise); }

double Difference::allowed(double tolerance, size_t tensor) const {
  return allowedOf(tolerance, tensor < tensors.size() ? tensors[tensor] : 0);
}

void Difference::take(const Difference &other) {
  loss = std::max(loss, other.loss);
  tensors.resize(other.tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i] = std::max(tensors[i], other.tensors[i]);
}

bool Difference::isWithin(double tolerance, const Difference &noise) const {
  bool within = loss <= allowedOf(tolerance, noise.loss);
  for (size_t i = 0; i < tensors.size(); ++i)
    within &= tensors[i] <= noise.allowed(tolerance, i);
  return within;
}

double Difference::largest() const { return *std::ranges::max_element(tensors); }

Difference compare(const Outcome &got, const Outcome &reference, const Measure &measure) {
  Difference difference;
  difference.loss = std::fabs(got.loss - reference.loss) / std::max(std::fabs(reference.loss), 1e-30);
  double most = 0;
  for (const auto &gradient : reference.gradients)
    most = std::max(most, sizeOf(gradient, measure));
  for (size_t index = 0; index < reference.gradients.size(); ++index) {
    const std::vector<double> &expected = reference.gradients[index];
    double scale = std::max({sizeOf(expected, measure), measure.floor * most, 1e-30});
    std::vector<double> apart = got.gradients[index];
    for (size_t at = 0; at < expected.size(); ++at)
      apart[at] -= expected[at];
    difference.tensors.push_back(sizeOf(apart, measure) / scale);
  }
  return difference;
}

} // namespace accum::runtime::verify
