// SPDX-License-Identifier: Apache-2.0
// A line through the parameters along which a loss is measured.
#ifndef ACCUM_RUNTIME_VERIFY_DIRECTION_H
#define ACCUM_RUNTIME_VERIFY_DIRECTION_H

#include "runtime/verify/Slope.h"
#include "runtime/verify/Trial.h"

namespace accum::runtime::verify {

/// The trained tensors as they are, and the gradient there, in their bytes.
using Tensors = std::vector<std::vector<uint8_t>>;

enum class Along {
  Gradient, ///< where the loss changes most; sees a gradient that is too large or too small
  Signs,    ///< +1 or -1 at random for each element: sees what the gradient lacks, which lies across it
};

/// A unit vector in some of the tensors.
class Direction {
public:
  Direction(Trial &trial, const Tensors &values, const Tensors &gradient, std::vector<size_t> tensors,
            Along along);

  /// Writes the parameters at a distance along it. `predicted`: the change of the loss by the gradient and
  /// the steps that rounding has left of that.
  int move(double distance, double &predicted);
  /// The parameters as they were.
  int leave();

  /// The slope that errors are relative to: the gradient's length, or what it amounts to along signs.
  double scale() const { return slope; }
  /// The largest distance: elements change by a tenth of their tensor's usual size.
  double reach() const { return farthest; }

private:
  template <typename Real> void addLength(size_t tensor, double &squares, double &elements) const;
  template <typename Real> double at(size_t tensor, size_t element, Real gradient) const;
  template <typename Real> void measure(size_t tensor);
  template <typename Real> double moveTensor(size_t tensor, double distance);

  Trial &trial;
  const Tensors &values, &gradient;
  std::vector<size_t> tensors;
  Along along;
  double length = 0, slope = 0, farthest = 0;
  std::vector<uint8_t> moved;
};

/// Writes the parameters with each element changed by that part of itself, up or down at random, and gives
/// the change of the loss by the gradient. A change in the last digits shows what rounding does to a step.
int writeShaken(Trial &trial, const Tensors &values, const Tensors &gradient, double part, uint64_t seed,
                double &predicted);
/// Writes other parameters in the neighbourhood: each element is a good part of its tensor's usual size off,
/// in a direction of its own for each number.
int writeDisplaced(Trial &trial, const Tensors &values, uint64_t number);
int writeAll(Trial &trial, const Tensors &values);

} // namespace accum::runtime::verify
#endif
