// SPDX-License-Identifier: Apache-2.0
// Reports and dumps beside the artifact.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace accum::driver {

/// Writes the whole text; or returns why not, and leaves no half of it behind. Empty on success.
std::string writeTextFile(const std::string &path, llvm::StringRef text);

} // namespace accum::driver
