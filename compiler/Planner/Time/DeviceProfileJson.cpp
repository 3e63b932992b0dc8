// SPDX-License-Identifier: Apache-2.0
// Writes a resolved profile, which reads back as the same on the machine that it names.
#include "compiler/Planner/Time/DeviceProfile.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace accum::planner {

using OrderedJson = nlohmann::ordered_json;

namespace {

OrderedJson ratesJson(const DeviceProfile &profile) {
  OrderedJson json = OrderedJson::array();
  for (const Rate &rate : profile.rates) {
    OrderedJson entry = {{"unit", rate.attention ? "attention"
                                  : rate.matrix  ? "matrix"
                                                 : "vector"},
                         {"dtype", rate.dtype},
                         {"peak", rate.peak},
                         {"sustained", rate.sustained}};
    if (rate.halfAt != std::array<double, 3>{})
      entry["half_at"] = rate.halfAt;
    entry["source"] = rate.source;
    json.push_back(entry);
  }
  return json;
}

OrderedJson tablesJson(const DeviceProfile &profile) {
  OrderedJson json = OrderedJson::array();
  for (const TimeTable &table : profile.tables) {
    OrderedJson entry = {{"call", table.call}, {"dtype", table.dtype}, {"spread", table.spread}};
    if (table.operands == Operands::Far)
      entry["operands"] = "far";
    if (table.threads > 0)
      entry["threads"] = table.threads;
    entry["axes"] = table.axes;
    entry["seconds"] = table.seconds;
    json.push_back(std::move(entry));
  }
  return json;
}

} // namespace

std::string toJson(const DeviceProfile &profile, const HostFacts &host, const std::string &source) {
  OrderedJson json = {
      {"format", "accum-device-profile"}, {"version", 1}, {"name", profile.name}, {"basis", profile.basis}};
  if (profile.isCuda())
    json["architecture"] = profile.architecture;
  if (profile.basis == "measured")
    json["machine"] = {{"cpu", host.cpu}, {"cores", host.cores}, {"vector_bytes", profile.vectorBytes}};
  if (profile.basis == "measured" && profile.referenceSeconds > 0)
    json["machine"]["reference_seconds"] = profile.referenceSeconds;
  json["memory"] = {{"total", profile.memoryTotal}, {"usable", profile.memoryUsable}, {"source", source}};
  json["alignment"] = profile.alignment;
  json["shared"] = profile.sharedByDevices;
  json["rates"] = ratesJson(profile);
  json["bandwidth"] = {{"bytes_per_second", profile.bandwidth}, {"source", source}};
  json["launch"] = {{"seconds", profile.launch}, {"source", source}};
  json["link"] = {{"bytes_per_second", profile.linkBandwidth},
                  {"latency_seconds", profile.linkLatency},
                  {"source", source}};
  if (profile.overlapsSums)
    json["link"]["overlaps"] = true;
  if (profile.hostLinkBandwidth > 0)
    json["host_link"] = {{"bytes_per_second", profile.hostLinkBandwidth}, {"source", source}};
  if (profile.diskBandwidth > 0)
    json["disk"] = {{"bytes_per_second", profile.diskBandwidth}, {"source", source}};
  if (profile.hostMemory > 0)
    json["host_link"]["capacity"] = profile.hostMemory;
  json["overheads"] = OrderedJson::array();
  for (const Overhead &overhead : profile.overheads) {
    json["overheads"].push_back({{"name", overhead.name},
                                 {"bytes", overhead.bytes},
                                 {"counted", overhead.counted},
                                 {"parallel_only", overhead.onlyParallel},
                                 {"source", source}});
    if (overhead.cores > 0)
      json["overheads"].back()["per"] = "core";
    if (overhead.perCommand > 0)
      json["overheads"].back()["per_command"] = overhead.perCommand;
  }
  json["costs"] = OrderedJson::array();
  for (const auto &[operation, seconds] : profile.costs)
    json["costs"].push_back({{"operation", operation}, {"seconds", seconds}, {"source", source}});
  for (size_t index = 0; index < profile.misses.bytes.size(); ++index)
    json["misses"].push_back(
        {{"bytes", profile.misses.bytes[index]}, {"missed", profile.misses.missed[index]}});
  json["tables"] = tablesJson(profile);
  return json.dump(1) + "\n";
}

} // namespace accum::planner
