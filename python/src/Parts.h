// SPDX-License-Identifier: Apache-2.0
// What the extension module is made of.
#pragma once

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace accum::python {

/// Up to a null, as the C interfaces take lists.
std::vector<const char *> pointersOf(const std::vector<std::string> &texts);

void addCompiler(nanobind::module_ &module);
void addRanks(nanobind::module_ &module);
void addSession(nanobind::module_ &module);

} // namespace accum::python
