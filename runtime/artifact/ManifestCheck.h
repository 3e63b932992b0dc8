// SPDX-License-Identifier: Apache-2.0
// Whether a parsed manifest is consistent; everything after the reader may rely on the answer.
#ifndef ACCUM_RUNTIME_ARTIFACT_MANIFESTCHECK_H
#define ACCUM_RUNTIME_ARTIFACT_MANIFESTCHECK_H

#include "runtime/artifact/Manifest.h"

namespace accum::runtime {

/// One sentence about the first contradiction, or nothing.
std::optional<std::string> findContradiction(const Manifest &manifest);

} // namespace accum::runtime
#endif
