// SPDX-License-Identifier: Apache-2.0
// Before the update.
#include "runtime/session/GradientGuard.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {

void GradientGuard::beginStep() {
  squaredNorm = 0;
  sawGradients = false;
}

Status GradientGuard::add(const void *data, uint64_t n, DType dtype) {
  sawGradients = true;
  auto square = opened.device->squaredNorm(data, n, dtype);
  if (square)
    squaredNorm += *square;
  return square ? Status() : square.error();
}

Expected<bool> GradientGuard::isFinite(bool inParts) {
  if (inParts)
    if (Status status = opened.ranks->allReduce(&squaredNorm, 1, ACCUM_F64); !status)
      return status.error();
  auto loss = opened.scalarOr("loss", 0);
  if (!loss)
    return loss.error();
  return std::isfinite(squaredNorm) && std::isfinite(*loss);
}

Expected<bool> GradientGuard::isSpike(double deviations) {
  auto loss = opened.scalarOr("loss", 0);
  if (!loss)
    return loss.error();
  return std::max(lossSpikes.add(*loss), normSpikes.add(norm())) > deviations;
}

double GradientGuard::norm() const { return sawGradients ? std::sqrt(squaredNorm) : NAN; }

void GradientGuard::restore(const std::deque<double> &losses, const std::deque<double> &norms) {
  lossSpikes.restore(losses);
  normSpikes.restore(norms);
}

} // namespace accum::runtime
