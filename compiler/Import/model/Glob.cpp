// SPDX-License-Identifier: Apache-2.0
// Shell patterns over dotted names.
#include "compiler/Import/parameters/Parameters.h"
#include <fnmatch.h>

namespace accum::import {

bool matchesGlob(std::string_view pattern, std::string_view name) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

} // namespace accum::import
