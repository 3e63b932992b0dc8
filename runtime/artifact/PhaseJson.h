// SPDX-License-Identifier: Apache-2.0
// The manifest's list of phases as JSON.
#ifndef ACCUM_RUNTIME_ARTIFACT_PHASEJSON_H
#define ACCUM_RUNTIME_ARTIFACT_PHASEJSON_H

#include "runtime/artifact/Manifest.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

nlohmann::ordered_json phasesJson(const std::vector<PhaseSpec> &phases);
/// Throws what nlohmann throws, or std::invalid_argument.
PhaseSpec phaseFrom(const nlohmann::ordered_json &entry);

} // namespace accum::runtime
#endif
