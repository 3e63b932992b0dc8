// SPDX-License-Identifier: Apache-2.0
// What the time and memory model knows of a device: rates, latencies and what software on it takes before we
// start.
#pragma once
#include "compiler/Planner/Problem/Result.h"
#include "compiler/Planner/Time/TimeTables.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accum::planner {

/// Arithmetic rate of matrix units (`matrix`) or of everything else, in flops per second.
struct Rate {
  bool matrix = false;
  std::string dtype = {};
  double sustained = 0; ///< what large problems reach; the time model uses this
  double peak = 0;      ///< the figure MFU is taken against
  std::string source = {};
  bool attention =
      false; ///< of attention as one command, which is slower than a product; `matrix` is not set
  /// Sizes of a library call (the axes of its table) at which it runs at half of `sustained`; 0: always at
  /// all of it.
  std::array<double, 3> halfAt = {};
};

/// Memory that is gone on the device for other reasons than our arena.
struct Overhead {
  std::string name = {};
  int64_t bytes = 0;
  bool counted = false; ///< whether it comes out of the budget, or was gone before the budget was measured
  bool onlyParallel = false; ///< only with more than one device
  /// It is held by a thread on each of so many, which devices on one machine divide, besides what products
  /// are packed into; 0: held once.
  int64_t cores = 0;
  int64_t perCommand = 0; ///< bytes more for each command: its code, and what the runtime knows of it
};

struct DeviceProfile {
  std::string name = {};
  std::string architecture = {}; ///< "sm_90": a CUDA device; empty: the host
  std::string basis = {};       ///< `datasheet`, `estimated` or `measured`: printed with every predicted time
  int64_t memoryTotal = 0;      ///< bytes; 0 where only the machine itself knows (host)
  int64_t memoryUsable = 0;     ///< bytes, the default budget
  int64_t alignment = 256;      ///< of every offset in the arena, a power of two
  bool sharedByDevices = false; ///< the D devices are processes on one machine and divide its rates
  std::vector<Rate> rates = {};
  double bandwidth = 0;     ///< bytes per second, device memory
  double launch = 0;        ///< seconds per command
  double linkBandwidth = 0; ///< bytes per second and direction between devices
  double linkLatency = 0;   ///< seconds per hop of a collective
  /// The all-reduce of gradients starts when they are final, alongside the rest of the last micro-step.
  bool overlapsSums = false;
  double hostLinkBandwidth =
      0; ///< bytes per second and direction between device and host memory; 0: no such link
  /// Bytes per second of the disk that a host keeps offloaded state on; 0: it has none, or is a device's
  /// host.
  double diskBandwidth = 0;
  /// Bytes of the host's memory that one device may take; 0: not known.
  int64_t hostMemory = 0;
  std::vector<Overhead> overheads = {};
  std::vector<TimeTable> tables = {}; ///< of library calls, where measured
  MissCurve misses = {};              ///< between their near and far tables
  /// Of accum-calibrate's fixed product, at the speed that the tables are of; 0: not known. A benchmark on a
  /// machine whose speed moves compares by it.
  double referenceSeconds = 0;
  /// Of the vectors that blocked the products of attention where its tables were measured.
  int64_t vectorBytes = 64;
  /// Seconds for each element that an operation of a kernel touches; `norm` is that of the gradients' norm.
  std::map<std::string, double, std::less<>> costs = {};
  std::vector<std::string> notices = {}; ///< for the user: measured elsewhere

  /// Bytes per second to where offloaded state is; 0: nowhere.
  double offloadBandwidth() const { return isCuda() ? hostLinkBandwidth : diskBandwidth; }
  bool isCuda() const { return !architecture.empty(); }
  /// The rate for that arithmetic; falls back to f32, then to the first rate of that unit, which a read
  /// profile has.
  const Rate &rate(bool matrix, std::string_view dtype) const;
  /// That of attention in that arithmetic, for tf32 that of f32 if there is no other; null where it is that
  /// of the matrix units.
  const Rate *attentionRate(std::string_view dtype) const;
};

/// What a profile whose rates are given per core and instruction set is resolved against.
struct HostFacts {
  int cores = 1;
  /// `avx2`, `avx512f`, `amx_bf16`, `avx512_bf16_whole`
  std::vector<std::string> features = {};
  std::string cpu = {}; ///< its name, family, model and stepping; empty: unknown
};

/// This machine: the cores this process may run on, and its instruction sets.
HostFacts detectHost();

/// How a host multiplies bf16, by what the profile's rates are of: one line for the user. Nothing of cards,
/// and where the profile does not know.
std::optional<std::string> bf16Notice(const DeviceProfile &profile);

/// Of the widest vectors that the runtime's libraries use there.
int64_t widestVector(const HostFacts &host);

/// Reads a profile strictly: an unknown key or a figure out of range is an error that names where it stands.
/// `origin` is the file's name in messages. Slug `malformed-profile`.
Result<DeviceProfile> parseProfile(std::string_view json, const std::string &origin, const HostFacts &host);

/// A profile as JSON, resolved; `host` is the machine that it was measured on, `source` what its figures come
/// from.
std::string toJson(const DeviceProfile &profile, const HostFacts &host, const std::string &source);

/// A built-in profile by name, or a file when the name ends in `.json`. Slugs `unknown-target` (the nearest
/// names are in a note; a GPU before sm_80 is named as such), `file-unreadable`, `malformed-profile`.
Result<DeviceProfile> loadProfile(const std::string &nameOrFile, const HostFacts &host = detectHost());

/// Names of the built-in profiles, sorted.
std::vector<std::string> profileNames();

/// The built-in profiles as a table: a header, then a line each.
std::string describeProfiles();

} // namespace accum::planner
