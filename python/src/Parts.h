// SPDX-License-Identifier: Apache-2.0
// What the extension module is made of.
#pragma once

#include <nanobind/nanobind.h>

namespace accum::python {

void addCompiler(nanobind::module_ &module);
void addRanks(nanobind::module_ &module);
void addSession(nanobind::module_ &module);

} // namespace accum::python
