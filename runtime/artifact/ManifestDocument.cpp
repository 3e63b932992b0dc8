// SPDX-License-Identifier: Apache-2.0
// Checks of the text and of its outermost keys.
#include "runtime/artifact/ManifestDocument.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/system/Hash.h"

namespace accum::runtime {

using Json = nlohmann::ordered_json;

Error damaged(const std::string &path, const std::string &what) {
  return {kExitFile, path + ": is damaged: " + what, "bad-artifact", {"compile the model again"}};
}

Status checkFormat(const Json &json, const std::string &path) {
  if (!json.is_object() || !json.contains("format") || !json.at("format").is_number_integer())
    return damaged(path, "no `format` number");
  auto format = json.at("format").get<int64_t>();
  if (format >= kManifestFormat && format <= kOutputsFormat)
    return {};
  std::string range = format > kManifestFormat ? "newer" : "older";
  return Error{kExitFile,
               path + ": is format " + std::to_string(format) + ", this runtime reads formats " +
                   std::to_string(kManifestFormat) + " to " + std::to_string(kOutputsFormat) +
                   " (the artifact is " + range + ")",
               "artifact-version",
               {"use an accum-run and an accumc of one version, or compile the model again"}};
}

std::string checksumOf(const Json &json) {
  return hashText(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status checkChecksum(Json json, const std::string &path) {
  auto expected = json.at("checksum").get<std::string>();
  json.erase("checksum");
  std::string found = checksumOf(json);
  return found == expected ? Status() : damaged(path, "its checksum is " + found + ", expected " + expected);
}

/// A manifest has five lists and objects inside each other, and is written by a function that calls itself
/// for each: deep ones, in a key that nobody knows, would run out of the call stack.

bool isTooDeep(const std::string &text) {
  int depth = 0;
  bool isQuoted = false;
  for (size_t at = 0; at < text.size() && depth <= kDeepestDocument; ++at) {
    char c = text[at];
    if (c == '"')
      isQuoted = !isQuoted;
    else if (isQuoted)
      at += c == '\\';
    else
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
  }
  return depth > kDeepestDocument;
}

} // namespace accum::runtime
