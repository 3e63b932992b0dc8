// SPDX-License-Identifier: Apache-2.0
// Errors of the C interface as exceptions of Python.
#pragma once

#include <string>

namespace accum::python {

/// Raises the exception that accum._errors makes of an exit code and "error: ...", "note: ..." lines. The
/// caller holds the GIL.
[[noreturn]] void raise(int code, const std::string &text);

/// The same for a call of accum_runtime.h that returned other than 0.
void require(int code);

} // namespace accum::python
