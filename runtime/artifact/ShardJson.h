// SPDX-License-Identifier: Apache-2.0
// How the state is spread, as JSON of the manifest.
#ifndef ACCUM_RUNTIME_ARTIFACT_SHARDJSON_H
#define ACCUM_RUNTIME_ARTIFACT_SHARDJSON_H

#include "runtime/artifact/Manifest.h"
#include <nlohmann/json.hpp>

namespace accum::runtime {

nlohmann::ordered_json shardJson(const ShardSpec &shard);
/// Throws what nlohmann throws, or std::invalid_argument.
ShardSpec shardFrom(const nlohmann::ordered_json &entry);

} // namespace accum::runtime
#endif
