// SPDX-License-Identifier: Apache-2.0
// manifest.json before anything of it is read: its format, checksum and depth.
#ifndef ACCUM_RUNTIME_ARTIFACT_MANIFESTDOCUMENT_H
#define ACCUM_RUNTIME_ARTIFACT_MANIFESTDOCUMENT_H

#include "runtime/system/Status.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

inline constexpr int kDeepestDocument = 64; ///< lists and objects inside each other

/// Slug `bad-artifact` (exit 3).
Error damaged(const std::string &path, const std::string &what);
/// Slug `artifact-version` (exit 3) for another format.
Status checkFormat(const nlohmann::ordered_json &json, const std::string &path);
/// Of a document without its checksum, whatever the white space.
std::string checksumOf(const nlohmann::ordered_json &json);
/// Takes the document: a copy would double what reading takes.
Status checkChecksum(nlohmann::ordered_json json, const std::string &path);
/// Deeper than kDeepestDocument: it is written by a function that calls itself for each level.
bool isTooDeep(const std::string &text);

} // namespace accum::runtime
#endif
