// SPDX-License-Identifier: Apache-2.0
// A run needs the mode's words and the segments; the units are the compiler's.
#include "runtime/artifact/ShardJson.h"
#include "runtime/artifact/JsonFields.h"
#include <stdexcept>

namespace accum::runtime {

using Json = nlohmann::ordered_json;

namespace {

const char *heldBy(const StateSegment &segment) {
  return segment.isCut ? "cut" : segment.isOwned ? "owned" : "whole";
}

StateSegment segmentFrom(const Json &entry) {
  StateSegment segment{readBytes(entry, "offset"), readBytes(entry, "bytes"), readBytes(entry, "local")};
  auto held = entry.at("held").get<std::string>();
  segment.isCut = held == "cut";
  segment.isOwned = held == "owned";
  segment.isOffloaded = readOptional<bool>(entry, "offloaded").value_or(false);
  if (held != heldBy(segment))
    throw std::invalid_argument("unknown `held` of a segment: `" + held + "`");
  return segment;
}

Sharing modeFrom(const Json &entry) {
  auto mode = entry.at("mode").get<std::string>();
  std::string offload = readOptional<std::string>(entry, "offload").value_or(toText(Offload::None));
  if (!shardNamed(mode))
    throw std::invalid_argument("`shard` has the unknown mode `" + mode + "`");
  if (!offloadNamed(offload))
    throw std::invalid_argument("`offload` is `" + offload + "`");
  return {*shardNamed(mode), *offloadNamed(offload), entry.at("reduce").get<std::string>() == "each"};
}

} // namespace

Json shardJson(const ShardSpec &shard) {
  Json segments = Json::array();
  for (const StateSegment &segment : shard.segments)
    segments.push_back({{"offset", segment.offset},
                        {"bytes", segment.bytes},
                        {"local", segment.local},
                        {"held", heldBy(segment)},
                        {"offloaded", segment.isOffloaded}});
  return {{"mode", toText(shard.mode.shard)},
          {"offload", toText(shard.mode.offload)},
          {"reduce", shard.mode.reduceEach ? "each" : "once"},
          {"order", shard.order},
          {"segments", segments}};
}

ShardSpec shardFrom(const Json &entry) {
  ShardSpec shard;
  shard.mode = modeFrom(entry);
  shard.order = entry.value("order", std::vector<int64_t>());
  shard.segments = readAll(entry, "segments", segmentFrom);
  return shard;
}

} // namespace accum::runtime
