// SPDX-License-Identifier: Apache-2.0
// Whether a slope that a gradient predicts is that of a function which can only be evaluated, with rounding
// and with kinks. Plain arithmetic: knows no model.
#ifndef ACCUM_RUNTIME_VERIFY_SLOPE_H
#define ACCUM_RUNTIME_VERIFY_SLOPE_H

#include <functional>

namespace accum::runtime::verify {

/// The function at a distance along a direction, and how much of it the gradient says has been added on the
/// way there: by the distance that was really gone, which rounding of the arguments changes.
struct Sample {
  double value = 0, predicted = 0;
};

struct SlopeTask {
  double scale = 0;     ///< the slope that errors are relative to
  double noise = 0;     ///< deviation of one evaluation, by rounding
  double change = 0;    ///< how much the function should move: more than noise, little enough to be smooth
  double reach = 0;     ///< the largest distance at which the function is still itself
  double tolerance = 0; ///< relative error of a slope that is right
  double coarse = 0;    ///< relative: where rounding hides more than this, nothing can be told
};

enum class SlopeVerdict {
  Agrees,
  Wrong,
  Kinked,   ///< no single slope here: the one-sided ones differ at every distance, or the function jumps
  TooSmall, ///< the slope, if there is one, is below the rounding of the function
};

struct Slope {
  SlopeVerdict verdict = SlopeVerdict::TooSmall;
  double error = 0;   ///< relative to the predicted slope, or to itself where that is less
  double scatter = 0; ///< of `error`, by rounding
};

/// Central differences at a distance that is halved while they disagree, extrapolated (Richardson), since
/// their error is even in the distance. `evaluate` fills the sample at a distance, NaN where the function is
/// not finite, and returns 0 or a code that ends the measurement and is returned.
int judgeSlope(const SlopeTask &task, const std::function<int(double distance, Sample &)> &evaluate,
               Slope &slope);

} // namespace accum::runtime::verify
#endif
