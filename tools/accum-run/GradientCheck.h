// SPDX-License-Identifier: Apache-2.0
// --verify, second half: the gradient against central differences of the loss.
#ifndef ACCUM_RUN_GRADIENTCHECK_H
#define ACCUM_RUN_GRADIENTCHECK_H

#include "tools/accum-run/Trial.h"

namespace accum::run {

/// Looks at the trained tensors one by one, spread over the model, until --verify-seconds have passed; prints
/// what was seen; 0, or the exit code: 4 where a gradient is not the derivative of the loss.
/// docs/verifying.md says how.
int checkGradient(Trial &trial);

} // namespace accum::run
#endif
