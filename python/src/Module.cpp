// SPDX-License-Identifier: Apache-2.0
// accum._accum: the two C interfaces, thinly; the package's Python makes a surface of them.
#include "python/src/Parts.h"

NB_MODULE(_accum, module) {
  accum::python::addCompiler(module);
  accum::python::addRanks(module);
  accum::python::addSession(module);
}
