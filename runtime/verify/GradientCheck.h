// SPDX-License-Identifier: Apache-2.0
// A verification, second half: the gradient against central differences of the loss.
#ifndef ACCUM_RUNTIME_VERIFY_GRADIENTCHECK_H
#define ACCUM_RUNTIME_VERIFY_GRADIENTCHECK_H

#include "runtime/verify/Trial.h"

namespace accum::runtime::verify {

/// Looks at the trained tensors one by one, spread over the model, until --verify-seconds have passed; prints
/// what was seen; 0, or the exit code: 4 where a gradient is not the derivative of the loss.
/// docs/verifying.md says how.
int checkGradient(Trial &trial);

} // namespace accum::runtime::verify
#endif
