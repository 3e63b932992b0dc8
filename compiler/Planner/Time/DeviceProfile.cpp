// SPDX-License-Identifier: Apache-2.0
// Reads device profiles, and resolves those of the host against this machine.
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Problem/StrictJson.h"
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sched.h>

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

const Rate &DeviceProfile::rate(bool matrix, std::string_view dtype) const {
  const Rate *fallback = nullptr;
  for (const Rate &rate : rates) {
    if (rate.matrix != matrix || rate.attention)
      continue;
    if (rate.dtype == dtype)
      return rate;
    if (!fallback || (rate.dtype == "f32" && fallback->dtype != "f32"))
      fallback = &rate;
  }
  return *fallback;
}

const Rate *DeviceProfile::attentionRate(std::string_view dtype) const {
  auto found =
      std::ranges::find_if(rates, [&](const Rate &rate) { return rate.attention && rate.dtype == dtype; });
  if (found == rates.end())
    return dtype == "tf32" ? attentionRate("f32") : nullptr;
  return &*found;
}

/// What /proc/cpuinfo says of the first processor.
static std::map<std::string, std::string> processorFacts() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> facts;
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (size_t colon = line.find(':'); colon != std::string::npos)
      facts[line.substr(0, line.find_last_not_of("\t ", colon - 1) + 1)] =
          line.substr(std::min(colon + 2, line.size()));
  return facts;
}

static std::string processorName(std::map<std::string, std::string> &facts) {
  if (!facts.contains("model name"))
    return {};
  return fmt::format("{} (family {}, model {}, stepping {})", facts["model name"], facts["cpu family"],
                     facts["model"], facts["stepping"]);
}

/// Instructions for bf16, which the system has to allow as well: `amx_bf16`, and `avx512_bf16_whole` where
/// they are not done in halves, at no gain, as Intel's processors do them.
static void addBf16Features(std::map<std::string, std::string> &facts, HostFacts &host) {
  auto has = [flags = " " + facts["flags"] + " "](const std::string &flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  if (has("amx_bf16"))
    host.features.push_back("amx_bf16");
  if (has("avx512_bf16") && facts["vendor_id"] == "AuthenticAMD")
    host.features.push_back("avx512_bf16_whole");
}

HostFacts detectHost() {
  HostFacts host;
  std::map<std::string, std::string> facts = processorFacts();
  host.cpu = processorName(facts);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    host.cores = std::max(1, CPU_COUNT(&set));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    host.features.push_back("avx2");
  if (__builtin_cpu_supports("avx512f"))
    host.features.push_back("avx512f");
  addBf16Features(facts, host);
#endif
  return host;
}

std::optional<std::string> bf16Notice(const DeviceProfile &profile) {
  if (profile.isCuda() || profile.rate(true, "bf16").dtype != "bf16")
    return std::nullopt;
  double gain = profile.rate(true, "bf16").sustained / profile.rate(true, "f32").sustained;
  std::string said = profile.basis == "measured" ? "was measured" : "is assumed";
  if (gain > 1)
    return fmt::format(
        "{} {} to multiply bf16 {:.1f} times as fast as f32, by the processor's own instructions{}",
        profile.name, said, gain,
        profile.basis == "measured" ? "" : "; accum-run measures it when it starts");
  return fmt::format(
      "bf16 is slower than f32 on {}: it {} to widen products of bf16 to f32, which have {:.2f} "
      "of the rate of f32; bf16 saves memory for activations only",
      profile.name, said, gain);
}

int64_t widestVector(const HostFacts &host) {
  auto has = [&](std::string_view feature) {
    return std::ranges::find(host.features, feature) != host.features.end();
  };
  return has("avx512f") ? 64 : has("avx2") ? 32 : 16;
}

namespace {

constexpr double kMaxRate = 1e21;

/// A factor for figures given per core.
double perCore(ObjectReader &reader, const HostFacts &host) {
  if (!reader.has("per"))
    return 1;
  if (std::string unit = reader.text("per"); unit != "core")
    reader.raise("per", fmt::format("is `{}`, expected `core`", unit));
  return host.cores;
}

/// The first rate of each unit and type that this machine has the instructions for.
void readRate(ObjectReader reader, const HostFacts &host, DeviceProfile &profile) {
  Rate rate;
  std::string unit = reader.text("unit");
  if (unit != "matrix" && unit != "vector" && unit != "attention")
    reader.raise("unit", fmt::format("is `{}`, expected `matrix`, `vector` or `attention`", unit));
  rate.matrix = unit == "matrix";
  rate.attention = unit == "attention";
  rate.dtype = reader.name("dtype");
  double factor = perCore(reader, host);
  rate.peak = factor * reader.number("peak", 1, kMaxRate);
  rate.sustained = factor * reader.number("sustained", 1, kMaxRate);
  if (rate.sustained > rate.peak)
    reader.raise("sustained", "is larger than the peak");
  if (reader.has("half_at"))
    rate.halfAt = reader.numbers<3>("half_at", 0, 1e9);
  rate.source = reader.text("source");
  std::string needs = reader.has("needs") ? reader.text("needs") : "";
  reader.finish();
  bool usable =
      needs.empty() || std::find(host.features.begin(), host.features.end(), needs) != host.features.end();
  bool known = std::any_of(profile.rates.begin(), profile.rates.end(), [&](const Rate &other) {
    return other.matrix == rate.matrix && other.attention == rate.attention && other.dtype == rate.dtype;
  });
  if (usable && !known)
    profile.rates.push_back(std::move(rate));
}

void readMemory(ObjectReader reader, DeviceProfile &profile) {
  profile.memoryTotal = reader.integer("total");
  profile.memoryUsable = reader.integer("usable", 0, profile.memoryTotal);
  reader.text("source");
  reader.finish();
}

void readSpeeds(ObjectReader &root, const HostFacts &host, DeviceProfile &profile) {
  ObjectReader bandwidth = root.child("bandwidth");
  profile.bandwidth = perCore(bandwidth, host) * bandwidth.number("bytes_per_second", 1, kMaxRate);
  if (bandwidth.has("limit"))
    profile.bandwidth = std::min(profile.bandwidth, bandwidth.number("limit", 1, kMaxRate));
  bandwidth.text("source");
  bandwidth.finish();

  ObjectReader launch = root.child("launch");
  profile.launch = launch.number("seconds", 0, 1);
  launch.text("source");
  launch.finish();

  ObjectReader link = root.child("link");
  profile.linkBandwidth = link.number("bytes_per_second", 1, kMaxRate);
  profile.linkLatency = link.number("latency_seconds", 0, 1);
  if (link.has("overlaps"))
    profile.overlapsSums = link.boolean("overlaps");
  link.text("source");
  link.finish();

  if (root.has("host_link")) {
    ObjectReader hostLink = root.child("host_link");
    profile.hostLinkBandwidth = hostLink.number("bytes_per_second", 1, kMaxRate);
    if (hostLink.has("capacity"))
      profile.hostMemory = hostLink.integer("capacity", 1);
    hostLink.text("source");
    hostLink.finish();
  }
  if (root.has("disk")) {
    ObjectReader disk = root.child("disk");
    profile.diskBandwidth = disk.number("bytes_per_second", 1, kMaxRate);
    disk.text("source");
    disk.finish();
  }
}

/// `sm_80` or later: what CUDA 13 and the kernels' baseline leave.
void readArchitecture(ObjectReader &root, DeviceProfile &profile) {
  profile.architecture = root.text("architecture");
  const std::string &name = profile.architecture;
  bool number = name.size() >= 5 && name.size() <= 6 && name.starts_with("sm_") &&
                name.find_first_not_of("0123456789", 3) == std::string::npos;
  if (!number || std::stoi(name.substr(3)) < 80)
    root.raise("architecture", fmt::format("is `{}`, expected sm_80 or later", name));
}

Overhead readOverhead(ObjectReader reader, const HostFacts &host) {
  Overhead overhead;
  overhead.name = reader.name("name");
  overhead.bytes = reader.integer("bytes", 0, int64_t{1} << 50);
  overhead.counted = reader.boolean("counted");
  overhead.onlyParallel = reader.boolean("parallel_only");
  if (reader.has("per"))
    overhead.cores = static_cast<int64_t>(perCore(reader, host));
  if (reader.has("per_command"))
    overhead.perCommand = reader.integer("per_command", 0, int64_t{1} << 30);
  reader.text("source");
  reader.finish();
  return overhead;
}

void requireRates(ObjectReader &root, const DeviceProfile &profile) {
  for (bool matrix : {true, false})
    if (std::none_of(profile.rates.begin(), profile.rates.end(),
                     [&](const Rate &r) { return r.matrix == matrix && !r.attention; }))
      root.raise("rates", fmt::format("has no {} rate for this machine", matrix ? "matrix" : "vector"));
}

} // namespace

Result<DeviceProfile> parseProfile(std::string_view json, const std::string &origin, const HostFacts &host) {
  Result<Json> document = parseJson(json, origin, "malformed-profile");
  if (!document)
    return document.error();
  Complaint complaint{origin, "malformed-profile"};
  ObjectReader root(*document, "", complaint);
  DeviceProfile profile;
  root.expectFormat("accum-device-profile", 1);
  profile.name = root.name("name");
  profile.basis = root.text("basis");
  if (profile.basis != "datasheet" && profile.basis != "estimated" && profile.basis != "measured")
    root.raise("basis", fmt::format("is `{}`, expected datasheet, estimated or measured", profile.basis));
  if (root.has("architecture"))
    readArchitecture(root, profile);
  readMemory(root.child("memory"), profile);
  profile.alignment = root.integer("alignment", 1, 1 << 20);
  if ((profile.alignment & (profile.alignment - 1)) != 0)
    root.raise("alignment", fmt::format("is {}, expected a power of two", profile.alignment));
  profile.sharedByDevices = root.boolean("shared");
  for (auto &[path, element] : root.array("rates"))
    readRate({*element, path, complaint}, host, profile);
  requireRates(root, profile);
  readSpeeds(root, host, profile);
  for (auto &[path, element] : root.array("overheads"))
    profile.overheads.push_back(readOverhead({*element, path, complaint}, host));
  readMeasured(root, host, complaint, profile);
  root.finish();
  if (complaint.error)
    return *complaint.error;
  return profile;
}

} // namespace accum::planner
