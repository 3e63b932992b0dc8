// SPDX-License-Identifier: Apache-2.0
// Points are merged in pairs.
#include "tools/accum-run/records/RunCurve.h"
#include <algorithm>
#include <cmath>

namespace accum::run {

void RunCurve::add(uint64_t step, double value) {
  if (!std::isfinite(value))
    return;
  if (!all.empty() && all.back().count < most) {
    Point &last = all.back();
    last = {step, last.count + 1, std::min(last.least, value), std::max(last.greatest, value),
            last.sum + value};
    return;
  }
  if (all.size() == kMostPoints)
    halve();
  all.push_back({step, 1, value, value, value});
}

/// An even number of full points.
void RunCurve::halve() {
  for (size_t i = 0; i < all.size() / 2; ++i) {
    const Point &a = all[2 * i], &b = all[2 * i + 1];
    all[i] = {b.step, a.count + b.count, std::min(a.least, b.least), std::max(a.greatest, b.greatest),
              a.sum + b.sum};
  }
  all.resize(all.size() / 2);
  most *= 2;
}

double RunCurve::least() const { return std::ranges::min(all, {}, &Point::least).least; }

double RunCurve::greatest() const { return std::ranges::max(all, {}, &Point::greatest).greatest; }

} // namespace accum::run
