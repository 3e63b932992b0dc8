// SPDX-License-Identifier: Apache-2.0
// What the manifest says of several lengths, as JSON.
#ifndef ACCUM_RUNTIME_ARTIFACT_LENGTHJSON_H
#define ACCUM_RUNTIME_ARTIFACT_LENGTHJSON_H

#include "runtime/artifact/Manifest.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

nlohmann::ordered_json lengthsJson(const Manifest &manifest);
nlohmann::ordered_json paddedJson(const PaddedAxis &padded);
/// Throw what nlohmann throws, or std::invalid_argument.
void readLengths(const nlohmann::ordered_json &json, Manifest &manifest);
PaddedAxis paddedFrom(const nlohmann::ordered_json &entry);

inline constexpr int64_t kMostLengths = 16;

/// What contradicts itself; nothing where all is well.
std::optional<std::string> findLengthContradiction(const Manifest &manifest);

} // namespace accum::runtime
#endif
