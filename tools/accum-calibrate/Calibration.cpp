// SPDX-License-Identifier: Apache-2.0
// Tables of library calls, costs of operations, rates for everything else.
#include "tools/accum-calibrate/Calibration.h"
#include "runtime/Clock.h"
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

/// Seconds of a point, roughly: repeats, and long calls a few times. Only their ratios count.
double guess(const Grid &grid, size_t index) {
  constexpr double kRepeats = 0.015, kRuns = 6, kMultiplyAdds = 1e11;
  return kRepeats + kRuns * grid.work(index) / kMultiplyAdds;
}

/// A sample whose median is far above its least was disturbed; others only ever add time, so the lowest
/// median of a few tries is the call's.
Expected<Sample> undisturbed(const std::function<Expected<Sample>()> &measure) {
  constexpr int kTries = 4;
  constexpr double kSteady = 1.06;
  auto best = measure();
  for (int tries = 1; best && tries < kTries && best->median > kSteady * best->least; ++tries) {
    auto again = measure();
    if (!again || again->median < best->median)
      best = again;
  }
  return best;
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

Status Calibration::fillTable(LibraryCalls &calls, const Grid &grid, bool (*stop)()) {
  planner::TimeTable table{.call = grid.call, .dtype = "f32", .axes = grid.axes, .operands = grid.operands};
  std::vector<double> spreads;
  for (size_t index = 0; index < grid.points(); ++index) {
    if (stop())
      return stopped();
    auto point = grid.point(index);
    std::string key = fmt::format("{} {}x{}x{}", grid.name(), point[0], point[1], point[2]);
    bool known = results.find(key) != nullptr;
    double begin = runtime::now();
    auto taken = once(key, [&] { return calls.time(grid.call, point, grid.operands); });
    if (!taken)
      return taken.error();
    remaining.finish(guess(grid, index),
                     known ? std::nullopt : std::optional<double>(runtime::now() - begin));
    table.seconds.push_back(taken->median);
    spreads.push_back(taken->spread);
    progress(grid.name(), index + 1, grid.points(), remaining.seconds());
  }
  table.spread = summarize(spreads).median;
  table.level(threads);
  profile.tables.push_back(std::move(table));
  return {};
}

/// How much slower a product is with more weights that take turns, between what near tables and what far
/// ones are measured with.
Status Calibration::measureMisses(LibraryCalls &calls, bool (*stop)()) {
  std::vector<int64_t> sizes = {LibraryCalls::nearBytes()};
  for (int64_t mebibytes :
       coarse ? std::vector<int64_t>{64} : std::vector<int64_t>{32, 40, 48, 64, 80, 96, 128})
    sizes.push_back(mebibytes << 20);
  sizes.push_back(LibraryCalls::farBytes());
  std::vector<double> seconds;
  for (int64_t bytes : sizes) {
    if (stop())
      return stopped();
    auto taken = once(fmt::format("weights of {} MiB", bytes >> 20), [&] { return calls.product(bytes); });
    if (!taken)
      return taken.error();
    seconds.push_back(taken->median);
  }
  profile.misses = missCurve(sizes, seconds);
  return {};
}

Status Calibration::fitKernels(bool (*stop)()) {
  std::vector<Observation> observations;
  std::vector<Probe> probes = makeProbes(coarse);
  for (size_t index = 0; index < probes.size(); ++index) {
    if (stop())
      return stopped();
    auto observed = observe(probes[index], threads, profile.launch, results);
    if (stop())
      return stopped();
    if (!observed)
      return observed.error();
    observations.insert(observations.end(), observed->begin(), observed->end());
    progress("kernels", index + 1, probes.size(), std::nullopt);
  }
  auto costs = fitCosts(observations);
  profile.costs.insert(costs.begin(), costs.end());
  kernels = observations.size();
  kernelError = meanError(costs, observations);
  return {};
}

/// What calls without a table fall back to: the best rates seen.
void Calibration::setRates() {
  double best = 0;
  for (const planner::TimeTable &table : profile.tables) {
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
  for (planner::Rate &rate : profile.rates)
    if (rate.matrix && rate.dtype == "f32") {
      rate.sustained = best;
      rate.peak = std::max(rate.peak, best);
      rate.source = "the best point of the tables; peak by instruction set";
    }
  if (double each = profile.costs["bytes"]; each > 0)
    profile.bandwidth = 1 / each;
}

Status Calibration::run(bool (*stop)()) {
  auto calls = LibraryCalls::open();
  if (!calls)
    return calls.error();
  profile.basis = "measured";
  profile.tables.clear();
  profile.misses = {};
  profile.costs.clear();
  auto launch = once("launch", [&] { return Expected<Sample>(calls->launch()); });
  constexpr int64_t kNormElements = 8 << 20, kCopyBytes = 16 << 20;
  auto norm = once("norm", [&] { return Expected<Sample>(calls->norm(kNormElements)); });
  auto copy = once("copy", [&] { return Expected<Sample>(calls->copy(kCopyBytes)); });
  if (!launch || !norm || !copy)
    return launch ? (norm ? copy.error() : norm.error()) : launch.error();
  profile.launch = launch->least; // in a step the threads are awake
  // Kernels first: they need the programs beside this one, and would fail late.
  if (Status status = fitKernels(stop); !status)
    return status;
  profile.costs["norm"] = norm->median / double(kNormElements);
  profile.costs["copy_bytes"] = copy->median / double(kCopyBytes);
  if (auto sums = timeAllReduce(results)) {
    // A ring of two: every byte once over the link, two hops.
    profile.linkLatency = sums->few.median / 2;
    profile.linkBandwidth = double(sums->manyBytes) / std::max(1e-9, sums->many.median - sums->few.median);
    linked = true;
  }
  if (Status status = measureMisses(*calls, stop); !status)
    return status;
  std::vector<Grid> grids = makeGrids(coarse);
  for (const Grid &grid : grids)
    for (size_t index = 0; index < grid.points(); ++index)
      remaining.expect(guess(grid, index));
  for (const Grid &grid : grids)
    if (Status status = fillTable(*calls, grid, stop); !status)
      return status;
  setRates();
  return {};
}

std::vector<std::string> Calibration::summary() const {
  std::vector<std::string> lines;
  for (const planner::TimeTable &table : profile.tables)
    lines.push_back(fmt::format("{}{}: {} points, repetitions within {:.1f} %", table.call,
                                table.operands == planner::Operands::Far ? " from memory" : "",
                                table.seconds.size(), 100 * table.spread));
  lines.push_back(
      fmt::format("kernels: costs of {} operations from {} kernels, which they meet within {:.1f} %",
                  profile.costs.size(), kernels, 100 * kernelError));
  lines.push_back(fmt::format("launch {:.1f} us; f32 GEMM up to {:.0f} GFLOP/s; {}", profile.launch * 1e6,
                              profile.rate(true, "f32").sustained / 1e9,
                              linked ? fmt::format("all-reduce {:.1f} GB/s", profile.linkBandwidth / 1e9)
                                     : "no mpirun: the sum over devices stays estimated"));
  return lines;
}

} // namespace accum::calibrate
