// SPDX-License-Identifier: Apache-2.0
// Tables of library calls, costs of operations, rates for everything else.
#include "tools/accum-calibrate/Calibration.h"
#include "runtime/system/Clock.h"
#include "tools/accum-calibrate/AllReduce.h"
#include "tools/accum-calibrate/KernelProbe.h"
#include "tools/accum-calibrate/Misses.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::calibrate {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace {

Error stopped() {
  return {runtime::kExitStopped, "stopped; the same command continues where this one was", "stopped"};
}

/// Seconds of a point, roughly: turns of some milliseconds, and long calls a few times. Only their ratios
/// count.
double guess(const Grid &grid, size_t index) {
  constexpr double kTurns = 0.08, kRuns = 6, kMultiplyAdds = 1e11;
  return kTurns + kRuns * grid.work(index) / kMultiplyAdds;
}

/// A sample whose turns lie far apart was disturbed: once more, and the one whose turns agree counts.
Expected<Sample> undisturbed(const std::function<Expected<Sample>()> &measure) {
  constexpr double kSteady = 0.12;
  auto first = measure();
  if (!first || first->spread <= kSteady)
    return first;
  auto again = measure();
  return again && again->spread > first->spread ? first : again;
}

std::string keyOf(const Grid &grid, size_t index) {
  auto point = grid.point(index);
  return fmt::format("{} {}x{}x{}", grid.name(), point[0], point[1], point[2]);
}

std::string missKey(int64_t bytes) { return fmt::format("weights of {} MiB", bytes >> 20); }

std::vector<int64_t> missSizes(bool coarse) {
  std::vector<int64_t> sizes = {LibraryCalls::nearBytes()};
  for (int64_t mebibytes :
       coarse ? std::vector<int64_t>{64} : std::vector<int64_t>{32, 40, 48, 64, 80, 96, 128})
    sizes.push_back(mebibytes << 20);
  sizes.push_back(LibraryCalls::farBytes());
  return sizes;
}

constexpr int64_t kNormElements = 8 << 20, kCopyBytes = 16 << 20, kAwayBytes = 128 << 20;

std::string awayKey(bool adds, int64_t bytes) {
  return fmt::format("{} with activations of {} MiB", adds ? "gemm-tn" : "gemm-nn", bytes >> 20);
}

} // namespace

Expected<Sample> Calibration::once(const std::string &key, const std::function<Expected<Sample>()> &measure) {
  if (const Sample *known = results.find(key))
    return *known;
  auto taken = undisturbed(measure);
  if (!taken)
    return taken;
  if (Status status = results.add(key, *taken); !status)
    return status.error();
  return taken;
}

Status Calibration::measureGrid(LibraryCalls &calls, const Grid &grid, bool (*stop)()) {
  for (size_t index = 0; index < grid.points(); ++index) {
    if (stop())
      return stopped();
    bool known = results.find(keyOf(grid, index)) != nullptr;
    double begin = runtime::now();
    auto taken = once(keyOf(grid, index),
                      [&] { return calls.time(grid.call, grid.dtype, grid.point(index), grid.operands); });
    if (!taken)
      return taken.error();
    remaining.finish(guess(grid, index),
                     known ? std::nullopt : std::optional<double>(runtime::now() - begin));
    progress(grid.name(), index + 1, grid.points(), remaining.seconds());
  }
  return {};
}

/// How much slower a product is with more weights that take turns, between what near tables and what far
/// ones are measured with.
Status Calibration::measureMisses(LibraryCalls &calls, bool (*stop)()) {
  for (int64_t bytes : missSizes(coarse)) {
    if (stop())
      return stopped();
    if (auto taken = once(missKey(bytes), [&] { return calls.product(bytes); }); !taken)
      return taken.error();
  }
  for (bool adds : {false, true})
    for (int64_t bytes : {int64_t{0}, kAwayBytes})
      if (auto taken = once(awayKey(adds, bytes), [&] { return calls.manyRows(adds, bytes); }); !taken)
        return taken.error();
  return {};
}

Status Calibration::measureKernels(LibraryCalls &calls, bool (*stop)()) {
  std::vector<Probe> probes = makeProbes(coarse);
  fillMisses();
  std::string soFar = planner::toJson(profile, planner::detectHost(), "accum-calibrate");
  for (size_t index = 0; index < probes.size(); ++index) {
    if (stop())
      return stopped();
    auto observed =
        observe(probes[index], soFar, threads, profile.launch, [&] { return calls.reference(); }, results);
    if (stop())
      return stopped();
    if (!observed)
      return observed.error();
    observations.insert(observations.end(), observed->begin(), observed->end());
    progress("kernels", index + 1, probes.size(), std::nullopt);
  }
  return {};
}

Sample Calibration::known(const std::string &key) const {
  return atSpeed(*results.find(key), profile.referenceSeconds);
}

void Calibration::fillTable(const Grid &grid) {
  planner::TimeTable table{
      .call = grid.call, .dtype = grid.dtype, .axes = grid.axes, .operands = grid.operands};
  std::vector<double> spreads;
  for (size_t index = 0; index < grid.points(); ++index) {
    Sample taken = known(keyOf(grid, index));
    table.seconds.push_back(taken.median);
    spreads.push_back(taken.spread);
  }
  table.spread = summarize(spreads).median;
  table.level(threads);
  profile.tables.push_back(std::move(table));
}

void Calibration::fillMisses() {
  std::vector<int64_t> sizes = missSizes(coarse);
  std::vector<double> seconds;
  for (int64_t bytes : sizes)
    seconds.push_back(known(missKey(bytes)).median);
  profile.misses = missCurve(sizes, seconds);
}

/// What a byte of activations costs a call more that comes from memory.
double Calibration::fetchSeconds() const {
  double seconds = 0, bytes = 0;
  for (bool adds : {false, true}) {
    seconds += known(awayKey(adds, kAwayBytes)).median - known(awayKey(adds, 0)).median;
    bytes += double(LibraryCalls::manyRowsBytes(adds));
  }
  return std::max(0.0, seconds / bytes);
}

void Calibration::fitKernels() {
  for (Observation &each : observations)
    if (each.reference > 0)
      each.seconds *= profile.referenceSeconds / each.reference;
  auto costs = fitCosts(observations);
  profile.costs.insert(costs.begin(), costs.end());
  kernelError = meanError(costs, observations);
}

/// Operations per second of the fastest product in that arithmetic.
double Calibration::bestRate(const std::string &dtype) const {
  double best = 0;
  for (const planner::TimeTable &table : profile.tables) {
    if (table.dtype != dtype)
      continue;
    size_t index = 0;
    for (int64_t x : table.axes[0])
      for (int64_t y : table.axes[1])
        for (int64_t z : table.axes[2]) {
          double work = planner::callWork(table.call, {double(x), double(y), double(z)});
          if (table.call.starts_with("gemm"))
            best = std::max(best, 2 * work / table.seconds[index]);
          ++index;
        }
  }
  return best;
}

/// What calls without a table fall back to: the best rates seen.
void Calibration::setRates() {
  for (planner::Rate &rate : profile.rates)
    if (double best = rate.matrix ? bestRate(rate.dtype) : 0; best > 0) {
      rate.sustained = best;
      rate.peak = std::max(rate.peak, best);
      rate.source = "the best point of the tables; peak by instruction set";
    }
  if (double each = profile.costs["bytes"]; each > 0)
    profile.bandwidth = 1 / each;
}

Status Calibration::measure(LibraryCalls &calls, const std::vector<Grid> &grids, bool (*stop)()) {
  auto launch = once("launch", [&] { return Expected<Sample>(calls.launch()); });
  auto norm = once("norm", [&] { return Expected<Sample>(calls.norm(kNormElements)); });
  auto copy = once("copy", [&] { return Expected<Sample>(calls.copy(kCopyBytes)); });
  if (!launch || !norm || !copy)
    return launch ? (norm ? copy.error() : norm.error()) : launch.error();
  profile.launch = launch->median;
  if (Status status = measureMisses(calls, stop); !status)
    return status;
  // Before the tables: they need the programs beside this one, and would fail late.
  if (Status status = measureKernels(calls, stop); !status)
    return status;
  if (auto sums = timeAllReduce(results)) {
    // A ring of two: every byte once over the link, two hops.
    profile.linkLatency = sums->few.median / 2;
    profile.linkBandwidth = double(sums->manyBytes) / std::max(1e-9, sums->many.median - sums->few.median);
    linked = true;
  }
  for (const Grid &grid : grids)
    for (size_t index = 0; index < grid.points(); ++index)
      remaining.expect(guess(grid, index));
  for (const Grid &grid : grids)
    if (Status status = measureGrid(calls, grid, stop); !status)
      return status;
  return {};
}

Status Calibration::run(bool (*stop)()) {
  auto calls = LibraryCalls::open();
  if (!calls)
    return calls.error();
  profile.basis = "measured";
  profile.tables.clear();
  profile.misses = {};
  profile.costs.clear();
  std::vector<Grid> grids = makeGrids(coarse);
  if (Status status = measure(*calls, grids, stop); !status)
    return status;
  profile.referenceSeconds = results.reference();
  profile.vectorBytes = planner::widestVector(planner::detectHost());
  profile.launch = known("launch").median;
  fitKernels();
  profile.costs["norm"] = known("norm").median / double(kNormElements);
  profile.costs["copy_bytes"] = known("copy").median / double(kCopyBytes);
  profile.costs["call_far_bytes"] = fetchSeconds();
  fillMisses();
  for (const Grid &grid : grids)
    fillTable(grid);
  setRates();
  return {};
}

std::vector<std::string> Calibration::summary() const {
  std::vector<std::string> lines;
  for (const planner::TimeTable &table : profile.tables)
    lines.push_back(fmt::format("{}{}{}: {} points, repetitions within {:.1f} %", table.call,
                                table.operands == planner::Operands::Far ? " from memory" : "",
                                table.dtype == "f32" ? "" : " in " + table.dtype, table.seconds.size(),
                                100 * table.spread));
  lines.push_back(
      fmt::format("kernels: costs of {} operations from {} kernels, which they meet within {:.1f} %",
                  profile.costs.size(), observations.size(), 100 * kernelError));
  lines.push_back(fmt::format("launch {:.1f} us; GEMM up to {:.0f} GFLOP/s in f32, {:.0f} in bf16; {}",
                              profile.launch * 1e6, profile.rate(true, "f32").sustained / 1e9,
                              profile.rate(true, "bf16").sustained / 1e9,
                              linked ? fmt::format("all-reduce {:.1f} GB/s", profile.linkBandwidth / 1e9)
                                     : "no mpirun: the sum over devices stays estimated"));
  return lines;
}

} // namespace accum::calibrate
