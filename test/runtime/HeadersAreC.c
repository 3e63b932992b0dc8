/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers compile as C and declare the same functions there. */
#include "runtime/accum_runtime.h"

const char *versionFromC(void) { return accum_runtime_version(); }
