// SPDX-License-Identifier: Apache-2.0
// A hash per command, and the longest stretch in which hashes repeat with one period.
#include "compiler/Planner/Search/RepeatedWindows.h"
#include <algorithm>
#include <functional>
#include <string_view>

namespace accum::planner {

namespace {

/// Comparisons for one search of a run.
constexpr int64_t kComparisons = 20'000'000;
constexpr int kMaxPeriod = 512;

class Hash {
public:
  void add(uint64_t value) { state = (state ^ value) * 0x9E3779B97F4A7C15u + (state >> 29); }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
  void add(const Amount &amount) {
    add(static_cast<uint64_t>(amount.fixed));
    add(static_cast<uint64_t>(amount.perSample));
    for (auto [m, value] : amount.table) {
      add(static_cast<uint64_t>(m));
      add(static_cast<uint64_t>(value));
    }
  }
  uint64_t state = 0;
};

std::vector<uint64_t> hashCommands(const Problem &problem) {
  std::vector<Hash> hashes(problem.commands.size());
  for (size_t index = 0; index < hashes.size(); ++index) {
    const Command &command = problem.commands[index];
    Hash &hash = hashes[index];
    hash.add(command.kernel);
    hash.add(command.dtype);
    hash.add(static_cast<uint64_t>(command.kind));
    hash.add(command.once ? 1u : 0u);
    hash.add(command.tail ? 1u : 0u);
    for (const Variant &variant : command.variants) {
      hash.add(variant.name);
      hash.add(variant.flops);
      hash.add(variant.bytes);
      hash.add(variant.workspace);
      hash.add(static_cast<uint64_t>(variant.slice));
      hash.add(static_cast<uint64_t>(variant.pieces));
      hash.add(toText(variant.call));
      for (const OperationCount &count : variant.work)
        hash.add(toText(count));
    }
  }
  for (const Buffer &buffer : problem.buffers)
    if (buffer.producer != kNoIndex) {
      hashes[buffer.producer].add(static_cast<uint64_t>(buffer.kind));
      hashes[buffer.producer].add(buffer.bytes);
    }
  std::vector<uint64_t> values;
  for (const Hash &hash : hashes)
    values.push_back(hash.state);
  return values;
}

/// The run of [begin, end) that covers most; count 1 where nothing repeats.
WindowRun longestRun(const std::vector<uint64_t> &hashes, int begin, int end) {
  WindowRun best{begin, 1, 1};
  int64_t length = end - begin;
  auto most = static_cast<int>(
      std::min<int64_t>({length / 2, kMaxPeriod, kComparisons / std::max<int64_t>(1, length)}));
  for (int period = 1; period <= most; ++period) {
    int equal = 0;
    for (int at = begin; at + period < end; ++at) {
      equal = hashes[at] == hashes[at + period] ? equal + 1 : 0;
      if (int count = equal / period + 1; count > 1 && count * period > best.count * best.period)
        best = {at + 1 - equal, period, count};
    }
  }
  return best;
}

} // namespace

std::vector<WindowRun> repeatedWindows(const Problem &problem, int begin, int end) {
  std::vector<uint64_t> hashes = hashCommands(problem);
  std::vector<WindowRun> runs;
  std::vector<std::pair<int, int>> open = {{begin, end}};
  while (!open.empty() && runs.size() < 64) {
    auto [from, to] = open.back();
    open.pop_back();
    WindowRun run = longestRun(hashes, from, to);
    if (run.count == 1)
      continue;
    runs.push_back(run);
    open.emplace_back(from, run.begin);
    open.emplace_back(run.begin + run.period * run.count, to);
  }
  std::sort(runs.begin(), runs.end(),
            [](const WindowRun &a, const WindowRun &b) { return a.begin < b.begin; });
  return runs;
}

} // namespace accum::planner
