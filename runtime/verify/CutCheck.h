// SPDX-License-Identifier: Apache-2.0
// A verification, first half: the step that the plan cuts against the same samples cut in other ways.
#ifndef ACCUM_RUNTIME_VERIFY_CUTCHECK_H
#define ACCUM_RUNTIME_VERIFY_CUTCHECK_H

#include "runtime/verify/Trial.h"

namespace accum::runtime::verify {

/// Compares loss and every gradient and prints the largest differences; 0, or the exit code: 4 where one is
/// beyond the tolerance. docs/verifying.md says what is compared and why.
int checkCuts(Trial &trial);

} // namespace accum::runtime::verify
#endif
