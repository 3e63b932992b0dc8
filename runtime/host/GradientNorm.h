// SPDX-License-Identifier: Apache-2.0
// The sum of squares over all gradients: their norm, and one number that is not finite when any of them is
// not.
#ifndef ACCUM_RUNTIME_HOST_GRADIENTNORM_H
#define ACCUM_RUNTIME_HOST_GRADIENTNORM_H

#include "runtime/files/DType.h"
#include <cstdint>

namespace accum::runtime {

/// Summed in double over pieces fixed by `n`: the bits do not depend on threads. f32 and f64; allocates
/// nothing.
double squaredNormOf(const void *data, uint64_t n, DType dtype);

} // namespace accum::runtime
#endif
