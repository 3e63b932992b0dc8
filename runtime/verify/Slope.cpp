// SPDX-License-Identifier: Apache-2.0
// A ladder of central differences.
#include "runtime/verify/Slope.h"
#include <algorithm>
#include <cmath>
#include <vector>

namespace accum::runtime::verify {
namespace {

constexpr int kRungs = 7;       ///< distances, each half of the one before
constexpr int kFiniteTries = 8; ///< halvings to reach where the function is finite
/// How many deviations rounding is allowed. Hundreds of tensors are looked at, several times each.
constexpr double kSigmas = 5;

/// Everything relative to the task's scale.
struct Rung {
  double error;   ///< of the central difference
  double bend;    ///< the one-sided differences' difference: halves with the distance where there is no kink
  double scatter; ///< of `error`, by rounding; that of `bend` is 3.5 times as large
};

class Ladder {
public:
  Ladder(const SlopeTask &task, const std::function<int(double, Sample &)> &evaluate)
      : task(task), evaluate(evaluate) {
    // Without a slope, what rounding leaves visible at the largest distance.
    scale = std::max(task.scale, task.noise / task.reach);
  }
  int climb(Slope &slope);

private:
  int measure(double distance, Rung &rung, bool &finite);
  int first(Rung &rung, bool &finite);
  bool decide(Slope &slope) const;
  bool isKink() const;
  bool isSettled(double error) const;
  Slope verdict(SlopeVerdict verdict, double error, double scatter) const;

  const SlopeTask &task;
  const std::function<int(double, Sample &)> &evaluate;
  double scale = 0, distance = 0, atZero = 0;
  std::vector<Rung> rungs;
};

int Ladder::measure(double at, Rung &rung, bool &finite) {
  Sample ahead, behind;
  if (int code = evaluate(at, ahead))
    return code;
  if (int code = evaluate(-at, behind))
    return code;
  double right = ahead.value - ahead.predicted - atZero, left = behind.value - behind.predicted - atZero;
  rung.error = (right - left) / (2 * at * scale);
  rung.bend = (right + left) / (at * scale);
  rung.scatter = task.noise / (std::sqrt(2.0) * at * scale);
  finite = std::isfinite(rung.error);
  return 0;
}

/// At the largest distance at which the function is finite.
int Ladder::first(Rung &rung, bool &finite) {
  Sample here;
  if (int code = evaluate(0, here))
    return code;
  atZero = here.value;
  distance = std::min(task.reach, task.change / scale);
  for (int tries = 0; tries < kFiniteTries; ++tries, distance /= 2) {
    if (int code = measure(distance, rung, finite))
      return code;
    if (finite)
      return 0;
  }
  return 0;
}

/// The error beside the larger of the two slopes: 1 where the gradient is zero and the function has a slope.
Slope Ladder::verdict(SlopeVerdict verdict, double error, double scatter) const {
  double larger = std::max(task.scale, std::fabs(error) * scale);
  double factor = larger > 0 ? scale / larger : 0;
  return {verdict, std::fabs(error) * factor, scatter * factor};
}

/// The bend stays as it is over two halvings, or grows, and the predicted slope lies between the one-sided
/// ones.
bool Ladder::isKink() const {
  size_t n = rungs.size();
  const Rung &last = rungs[n - 1];
  for (size_t i = n - 2; i < n; ++i)
    if (std::fabs(rungs[i].bend) < 0.7 * std::fabs(rungs[i - 1].bend))
      return false;
  return std::fabs(last.bend) > 3.5 * kSigmas * last.scatter &&
         std::fabs(last.error) <= 0.55 * std::fabs(last.bend) + task.tolerance + kSigmas * last.scatter;
}

/// What a wrong gradient is off by is the same at every distance; what curvature and many kinks (the ReLUs of
/// a network) leave shrinks with it, and what jumps do grows.
bool Ladder::isSettled(double error) const {
  for (size_t i = rungs.size() - 3; i < rungs.size(); ++i)
    if (std::fabs(rungs[i].error - error) > 0.25 * std::fabs(error) + 3 * rungs[i].scatter)
      return false;
  return true;
}

/// From the last three rungs.
bool Ladder::decide(Slope &slope) const {
  size_t n = rungs.size();
  auto extrapolated = [&](size_t i) { return (4 * rungs[i].error - rungs[i - 1].error) / 3; };
  auto scatterOf = [&](size_t i) { return std::hypot(4 * rungs[i].scatter, rungs[i - 1].scatter) / 3; };
  double spread = std::fabs(extrapolated(n - 1) - extrapolated(n - 2));
  spread = std::max(0.0, spread - kSigmas * scatterOf(n - 1));
  size_t best = spread > 0 ? n - 1 : n - 2; // rounding shows less at larger distances
  double error = extrapolated(best), scatter = scatterOf(best);
  double allowed = task.tolerance + kSigmas * scatter;
  if (std::fabs(error) <= allowed) {
    slope = verdict(SlopeVerdict::Agrees, error, scatter);
    return true;
  }
  slope = verdict(isKink() ? SlopeVerdict::Kinked : SlopeVerdict::Wrong, error, scatter);
  if (slope.verdict == SlopeVerdict::Wrong && std::fabs(error) > allowed + 2 * spread && isSettled(error))
    return true;
  // Not settled: the next rung may, unless rounding hides it there.
  if (slope.verdict == SlopeVerdict::Wrong)
    slope.verdict = spread > 0 || !isSettled(error) ? SlopeVerdict::Kinked : SlopeVerdict::TooSmall;
  return 2 * kSigmas * rungs[n - 1].scatter > std::max(task.coarse, std::fabs(error));
}

int Ladder::climb(Slope &slope) {
  Rung rung;
  bool finite = false;
  if (int code = first(rung, finite))
    return code;
  slope = verdict(SlopeVerdict::Kinked, 0, 0);
  if (!finite)
    return 0;
  double hidden = kSigmas * rung.scatter;
  if (std::fabs(rung.error) <= task.tolerance + hidden) {
    slope = verdict(hidden > task.coarse ? SlopeVerdict::TooSmall : SlopeVerdict::Agrees, rung.error,
                    rung.scatter);
    return 0;
  }
  rungs = {rung};
  for (int i = 1; i < kRungs; ++i) {
    distance /= 2;
    if (int code = measure(distance, rung, finite))
      return code;
    if (!finite)
      return 0;
    rungs.push_back(rung);
    if (i >= 2 && decide(slope))
      return 0;
  }
  return 0;
}

} // namespace

int judgeSlope(const SlopeTask &task, const std::function<int(double, Sample &)> &evaluate, Slope &slope) {
  return Ladder(task, evaluate).climb(slope);
}

} // namespace accum::runtime::verify
