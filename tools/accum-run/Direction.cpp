// SPDX-License-Identifier: Apache-2.0
// Unit vectors along a gradient, or of random signs.
#include "tools/accum-run/Direction.h"
#include "runtime/Convert.h"
#include <algorithm>
#include <cmath>

namespace accum::run {
namespace {

/// Of the usual size of a tensor's elements, how much they change at the most.
constexpr double kFarthest = 0.1;
/// Biases are often zero as yet: what counts as their size, a transformer's weights being of 0.02 and norms'
/// of 1.
constexpr double kLeastSize = 0.05;
/// A gradient may be all in a few elements; those change by more than others, up to this part.
constexpr double kFarthestOne = 0.5;

} // namespace

double signOf(uint64_t seed, uint64_t tensor, uint64_t element) {
  // SplitMix64 (Steele, Lea, Flood 2014): a mixer is enough to make signs that no gradient knows.
  uint64_t z = (seed * 0x9e3779b97f4a7c15u) ^ (tensor << 40) ^ element;
  z = (z + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) & 1) != 0 ? 1 : -1;
}

Direction::Direction(Trial &trial, const Tensors &values, const Tensors &gradient,
                     std::vector<size_t> tensors, Along along)
    : trial(trial), values(values), gradient(gradient), tensors(std::move(tensors)), along(along) {
  double squares = 0, elements = 0;
  for (size_t tensor : this->tensors) {
    runtime::DType dtype = trial.trained[tensor]->dtype;
    for (int64_t i = 0, n = trial.trained[tensor]->elements(); i < n; ++i) {
      double g = runtime::asDouble(gradient[tensor].data(), dtype, i);
      squares += g * g;
      elements += along == Along::Gradient || g != 0 || !trial.trained[tensor]->detached;
    }
  }
  length = std::sqrt(along == Along::Gradient ? squares : elements);
  slope = along == Along::Gradient ? length : std::sqrt(squares) / std::max(length, 1.0);
  farthest = INFINITY;
  for (size_t tensor : this->tensors)
    measure(tensor);
}

/// Of the direction, at an element. Where the model holds a gradient back, only where there is one.
double Direction::at(size_t tensor, size_t element) const {
  double g = runtime::asDouble(gradient[tensor].data(), trial.trained[tensor]->dtype, int64_t(element));
  if (along == Along::Gradient)
    return length > 0 ? g / length : 0;
  if (trial.trained[tensor]->detached && g == 0)
    return 0;
  return signOf(trial.options.seed, tensor, element) / length;
}

void Direction::measure(size_t tensor) {
  const runtime::ParameterSpec &spec = *trial.trained[tensor];
  double size = 0, moves = 0, most = 0;
  auto elements = size_t(spec.elements());
  for (size_t i = 0; i < elements; ++i) {
    double value = runtime::asDouble(values[tensor].data(), spec.dtype, int64_t(i)), step = at(tensor, i);
    size += value * value;
    moves += step * step;
    most = std::max(most, std::fabs(step));
  }
  size = std::max(std::sqrt(size / double(elements)), kLeastSize);
  if (moves > 0)
    farthest = std::min(
        {farthest, kFarthest * size * std::sqrt(double(elements) / moves), kFarthestOne * size / most});
}

int Direction::move(double distance, double &predicted) {
  predicted = 0;
  for (size_t tensor : tensors) {
    runtime::DType dtype = trial.trained[tensor]->dtype;
    moved = values[tensor];
    for (size_t i = 0, n = size_t(trial.trained[tensor]->elements()); i < n; ++i) {
      double from = runtime::asDouble(moved.data(), dtype, int64_t(i));
      runtime::storeFloat(moved.data(), dtype, int64_t(i), from + distance * at(tensor, i));
      predicted += runtime::asDouble(gradient[tensor].data(), dtype, int64_t(i)) *
                   (runtime::asDouble(moved.data(), dtype, int64_t(i)) - from);
    }
    if (int code = trial.write(tensor, moved))
      return code;
  }
  return 0;
}

int Direction::leave() {
  for (size_t tensor : tensors)
    if (int code = trial.write(tensor, values[tensor]))
      return code;
  return 0;
}

} // namespace accum::run
