// SPDX-License-Identifier: Apache-2.0
// Reads tables strictly: every figure out of range is named by its place.
#include "compiler/Planner/Time/DeviceProfileTables.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::planner {

namespace {

constexpr int64_t kLargestSize = int64_t{1} << 40;
constexpr size_t kMostSizes = 256, kMostPoints = 1 << 20, kMostShares = 1 << 22;
constexpr double kLeastSeconds = 1e-15, kMostSeconds = 1e6;

void readMachine(ObjectReader reader, const HostFacts &host, DeviceProfile &profile) {
  std::string cpu = reader.text("cpu");
  int64_t cores = reader.integer("cores", 1, 1 << 20);
  if (reader.has("reference_seconds"))
    profile.referenceSeconds = reader.number("reference_seconds", kLeastSeconds, kMostSeconds);
  if (reader.has("vector_bytes"))
    profile.vectorBytes = reader.integer("vector_bytes", 16, 256);
  reader.finish();
  if (profile.isCuda() || (cpu == host.cpu && cores == host.cores))
    return;
  profile.notices.push_back(fmt::format("target {} was measured on another machine: {} cores of {}; here {} "
                                        "of {}. accum-calibrate measures this one",
                                        profile.name, cores, cpu, host.cores,
                                        host.cpu.empty() ? "an unknown processor" : host.cpu));
}

std::vector<int64_t> readAxis(const Json &axis, const std::string &path, Complaint &complaint) {
  std::vector<int64_t> sizes;
  if (!axis.is_array() || axis.empty() || axis.size() > kMostSizes) {
    complaint.raise(path, fmt::format("is no array of 1 to {} sizes", kMostSizes));
    return {1};
  }
  for (const Json &size : axis) {
    bool fits = size.is_number_integer() && size >= int64_t{1} && size <= kLargestSize;
    if (!fits || (!sizes.empty() && size <= sizes.back())) {
      complaint.raise(fmt::format("{}[{}]", path, sizes.size()),
                      fmt::format("is {}, expected an integer from 1 to {}, larger than the one before",
                                  shown(size), kLargestSize));
      return {1};
    }
    sizes.push_back(size.get<int64_t>());
  }
  return sizes;
}

TimeTable readTable(ObjectReader reader, const std::string &path, Complaint &complaint) {
  TimeTable table{.call = reader.text("call"), .dtype = reader.name("dtype")};
  if (sizeCountOf(table.call) == 0)
    reader.raise("call", fmt::format("is `{}`, expected gemm-nn, gemm-nt, gemm-tn, gemm-tt or "
                                     "attention[-backward][-causal]",
                                     table.call));
  table.spread = reader.number("spread", 0, 1e6);
  if (reader.has("operands")) {
    std::string operands = reader.text("operands");
    if (operands != "near" && operands != "far")
      reader.raise("operands", fmt::format("is `{}`, expected near or far", operands));
    table.operands = operands == "far" ? Operands::Far : Operands::Near;
  }
  auto threads = reader.has("threads") ? static_cast<int>(reader.integer("threads", 1, 1 << 10)) : 0;
  auto axes = reader.array("axes");
  if (axes.size() != 3)
    reader.raise("axes", fmt::format("has {} elements, expected 3", axes.size()));
  size_t points = 1;
  for (size_t axis = 0; axis < std::min<size_t>(3, axes.size()); ++axis) {
    table.axes[axis] = readAxis(*axes[axis].second, axes[axis].first, complaint);
    points *= table.axes[axis].size();
  }
  auto seconds = reader.array("seconds");
  if (seconds.size() != points || points > kMostPoints)
    reader.raise("seconds",
                 fmt::format("has {} elements, expected {}, one for each point of the axes (at most {})",
                             seconds.size(), points, kMostPoints));
  for (const auto &[place, value] : seconds) {
    bool fits = value->is_number() && *value >= kLeastSeconds && *value <= kMostSeconds;
    if (!fits)
      complaint.raise(place, fmt::format("is {}, expected a number between {:g} and {:g}", shown(*value),
                                         kLeastSeconds, kMostSeconds));
    table.seconds.push_back(fits ? value->get<double>() : 1);
  }
  if (static_cast<size_t>(threads) * points > kMostShares)
    reader.raise("threads",
                 fmt::format("is {}, expected at most {} for so many points", threads, kMostShares / points));
  else if (threads > 0 && table.seconds.size() == points && !complaint.error)
    table.level(threads);
  reader.finish();
  return table;
}

/// Both ascend, so that more bytes touched never give a shorter time.
void readMiss(ObjectReader reader, MissCurve &curve) {
  int64_t bytes = reader.integer("bytes", curve.bytes.empty() ? 1 : curve.bytes.back() + 1, kLargestSize);
  double missed = reader.number("missed", curve.missed.empty() ? 0 : curve.missed.back(), 1);
  reader.finish();
  curve.bytes.push_back(bytes);
  curve.missed.push_back(missed);
}

/// The first cost of each operation that this machine has the instructions for.
void readCost(ObjectReader reader, const HostFacts &host, DeviceProfile &profile) {
  std::string operation = reader.name("operation");
  double seconds = reader.number("seconds", 0, 1);
  if (reader.has("per")) {
    if (std::string unit = reader.text("per"); unit != "core")
      reader.raise("per", fmt::format("is `{}`, expected `core`", unit));
    seconds /= host.cores;
  }
  reader.text("source");
  std::string needs = reader.has("needs") ? reader.text("needs") : "";
  reader.finish();
  if (needs.empty() || std::ranges::find(host.features, needs) != host.features.end())
    profile.costs.try_emplace(operation, seconds);
}

} // namespace

void readMeasured(ObjectReader &root, const HostFacts &host, Complaint &complaint, DeviceProfile &profile) {
  if (root.has("machine"))
    readMachine(root.child("machine"), host, profile);
  if (root.has("tables"))
    for (auto &[path, element] : root.array("tables")) {
      TimeTable table = readTable({*element, path, complaint}, path, complaint);
      if (findTable(profile.tables, table.call, table.dtype, table.operands))
        complaint.raise(path, fmt::format("is a second table of {} in {}", table.call, table.dtype));
      profile.tables.push_back(std::move(table));
    }
  if (root.has("misses"))
    for (auto &[path, element] : root.array("misses"))
      readMiss({*element, path, complaint}, profile.misses);
  if (root.has("costs"))
    for (auto &[path, element] : root.array("costs"))
      readCost({*element, path, complaint}, host, profile);
}

} // namespace accum::planner
