// SPDX-License-Identifier: Apache-2.0
// What a file of the framework's names holds, and what its loader will miss there.
#ifndef ACCUM_RUNTIME_WEIGHTS_FRAMEWORKNAMES_H
#define ACCUM_RUNTIME_WEIGHTS_FRAMEWORKNAMES_H

#include "runtime/artifact/Manifest.h"

namespace accum::runtime {

/// The framework's names of a parameter; of what has none and is trained, the model file's, so that nothing
/// trained is lost. None of a frozen one without: those are constants.
std::vector<AliasSpec> namesForFramework(const ParameterSpec &param);

/// What a strict load_state_dict will miss in such a file and why, a sentence for each kind of reason; empty
/// where it has all that the export tells of.
std::vector<std::string> missingForFramework(const Manifest &manifest);

} // namespace accum::runtime
#endif
