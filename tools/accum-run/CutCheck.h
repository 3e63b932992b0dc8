// SPDX-License-Identifier: Apache-2.0
// --verify, first half: the step that the plan cuts against the same samples cut in other ways.
#ifndef ACCUM_RUN_CUTCHECK_H
#define ACCUM_RUN_CUTCHECK_H

#include "tools/accum-run/Trial.h"

namespace accum::run {

/// Compares loss and every gradient and prints the largest differences; 0, or the exit code: 4 where one is
/// beyond the tolerance. docs/verifying.md says what is compared and why.
int checkCuts(Trial &trial);

} // namespace accum::run
#endif
