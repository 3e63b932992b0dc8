// SPDX-License-Identifier: Apache-2.0
// CMake wants a source in libaccum_runtime.so; everything else comes from the static library.
#include "runtime/accum_runtime.h"
