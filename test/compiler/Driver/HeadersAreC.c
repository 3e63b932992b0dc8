/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/Driver/accum_compiler.h"

const char *compilerVersionFromC(void);
const char *compilerVersionFromC(void) { return accum_compiler_version(); }
