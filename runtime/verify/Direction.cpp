// SPDX-License-Identifier: Apache-2.0
// Unit vectors along a gradient, or of random signs.
#include "runtime/verify/Direction.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime::verify {
namespace {

/// Of the usual size of a tensor's elements, how much they change at the most.
constexpr double kFarthest = 0.1;
/// Biases are often zero as yet: what counts as their size, a transformer's weights being of 0.02 and norms'
/// of 1.
constexpr double kLeastSize = 0.05;
/// A gradient may be all in a few elements; those change by more than others, up to this part.
constexpr double kFarthestOne = 0.5;

/// +1 or -1, the same everywhere for one seed.
double signOf(uint64_t seed, uint64_t tensor, uint64_t element) {
  // SplitMix64 (Steele, Lea, Flood 2014): a mixer is enough to make signs that no gradient knows.
  uint64_t z = (seed * 0x9e3779b97f4a7c15u) ^ (tensor << 40) ^ element;
  z = (z + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) & 1) != 0 ? 1 : -1;
}

template <typename Real> const Real *numbers(const std::vector<uint8_t> &bytes) {
  return reinterpret_cast<const Real *>(bytes.data());
}

template <typename Real> double usualSize(const Real *values, size_t elements) {
  double squares = 0;
  for (size_t i = 0; i < elements; ++i)
    squares += double(values[i]) * double(values[i]);
  return std::max(std::sqrt(squares / double(elements)), kLeastSize);
}

/// Trained tensors are of f32 or f64; models have billions of elements.
template <typename Call> void withReal(const ParameterSpec &spec, Call &&call) {
  if (spec.dtype == ACCUM_F64)
    call(double());
  else
    call(float());
}

template <typename Real>
double shake(std::vector<uint8_t> &bytes, const std::vector<uint8_t> &gradient, double part, uint64_t seed,
             size_t tensor) {
  auto *values = reinterpret_cast<Real *>(bytes.data());
  const Real *slopes = numbers<Real>(gradient);
  double predicted = 0;
  for (size_t i = 0, n = bytes.size() / sizeof(Real); i < n; ++i) {
    double from = values[i];
    values[i] = Real(from * (1 + part * signOf(seed, tensor, i)));
    predicted += double(slopes[i]) * (double(values[i]) - from);
  }
  return predicted;
}

} // namespace

int writeShaken(Trial &trial, const Tensors &values, const Tensors &gradient, double part, uint64_t seed,
                double &predicted) {
  predicted = 0;
  for (size_t tensor = 0; tensor < values.size(); ++tensor) {
    std::vector<uint8_t> moved = values[tensor];
    withReal(*trial.trained[tensor], [&](auto real) {
      predicted += shake<decltype(real)>(moved, gradient[tensor], part, seed, tensor);
    });
    if (int code = trial.write(tensor, moved))
      return code;
  }
  return 0;
}

int writeDisplaced(Trial &trial, const Tensors &values, uint64_t number) {
  constexpr double kPart = 0.2;
  constexpr uint64_t kOwnSigns = 1u << 20; // none that a direction has
  for (size_t tensor = 0; tensor < values.size(); ++tensor) {
    std::vector<uint8_t> moved = values[tensor];
    withReal(*trial.trained[tensor], [&](auto real) {
      using Real = decltype(real);
      auto *to = reinterpret_cast<Real *>(moved.data());
      size_t elements = moved.size() / sizeof(Real);
      double step = kPart * usualSize(to, elements);
      for (size_t i = 0; i < elements; ++i)
        to[i] += Real(step * signOf(trial.options.seed + kOwnSigns + number, tensor, i));
    });
    if (int code = trial.write(tensor, moved))
      return code;
  }
  return 0;
}

int writeAll(Trial &trial, const Tensors &values) {
  for (size_t tensor = 0; tensor < values.size(); ++tensor)
    if (int code = trial.write(tensor, values[tensor]))
      return code;
  return 0;
}

Direction::Direction(Trial &trial, const Tensors &values, const Tensors &gradient,
                     std::vector<size_t> tensors, Along along)
    : trial(trial), values(values), gradient(gradient), tensors(std::move(tensors)), along(along) {
  double squares = 0, elements = 0;
  for (size_t tensor : this->tensors)
    withReal(*trial.trained[tensor],
             [&](auto real) { addLength<decltype(real)>(tensor, squares, elements); });
  length = std::sqrt(along == Along::Gradient ? squares : elements);
  slope = along == Along::Gradient ? length : std::sqrt(squares) / std::max(length, 1.0);
  farthest = INFINITY;
  for (size_t tensor : this->tensors)
    withReal(*trial.trained[tensor], [&](auto real) { measure<decltype(real)>(tensor); });
}

template <typename Real> void Direction::addLength(size_t tensor, double &squares, double &elements) const {
  const ParameterSpec &spec = *trial.trained[tensor];
  const Real *slopes = numbers<Real>(gradient[tensor]);
  for (size_t i = 0, n = size_t(spec.elements()); i < n; ++i) {
    double g = slopes[i];
    squares += g * g;
    elements += along == Along::Gradient || g != 0 || !spec.detached;
  }
}

/// Of the direction, at an element. Where the model holds a gradient back, only where there is one.
template <typename Real> double Direction::at(size_t tensor, size_t element, Real g) const {
  if (along == Along::Gradient)
    return length > 0 ? double(g) / length : 0;
  if (g == 0 && trial.trained[tensor]->detached)
    return 0;
  return signOf(trial.options.seed, tensor, element) / length;
}

template <typename Real> void Direction::measure(size_t tensor) {
  const Real *from = numbers<Real>(values[tensor]), *slopes = numbers<Real>(gradient[tensor]);
  double moves = 0, most = 0;
  auto elements = size_t(trial.trained[tensor]->elements());
  for (size_t i = 0; i < elements; ++i) {
    double step = at(tensor, i, slopes[i]);
    moves += step * step;
    most = std::max(most, std::fabs(step));
  }
  double size = usualSize(from, elements);
  if (moves > 0)
    farthest = std::min(
        {farthest, kFarthest * size * std::sqrt(double(elements) / moves), kFarthestOne * size / most});
}

/// The change of the loss by the gradient.
template <typename Real> double Direction::moveTensor(size_t tensor, double distance) {
  moved = values[tensor];
  auto *to = reinterpret_cast<Real *>(moved.data());
  const Real *slopes = numbers<Real>(gradient[tensor]);
  double predicted = 0;
  for (size_t i = 0, n = size_t(trial.trained[tensor]->elements()); i < n; ++i) {
    double from = to[i];
    to[i] = Real(from + distance * at(tensor, i, slopes[i]));
    predicted += double(slopes[i]) * (double(to[i]) - from);
  }
  return predicted;
}

int Direction::move(double distance, double &predicted) {
  predicted = 0;
  for (size_t tensor : tensors) {
    withReal(*trial.trained[tensor],
             [&](auto real) { predicted += moveTensor<decltype(real)>(tensor, distance); });
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

} // namespace accum::runtime::verify
