// SPDX-License-Identifier: Apache-2.0
// Everything a candidate takes, line by line.
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Time/TileSchedule.h"
#include <algorithm>
#include <iterator>

namespace accum::planner {

int64_t bytesOf(const Overhead &overhead, const Problem &problem, int64_t devices, int64_t m) {
  if (overhead.onlyParallel && devices == 1)
    return 0;
  int64_t bytes = overhead.bytes + overhead.perCommand * static_cast<int64_t>(problem.commands.size());
  if (overhead.cores == 0)
    return bytes;
  int64_t threads = std::max<int64_t>(1, overhead.cores / devices), packed = 0;
  for (const Command &command : problem.commands)
    for (const Variant &variant : command.variants)
      packed = std::max(packed, packedBytes(variant.call, command.dtype, m, threads));
  return threads * bytes + packed;
}

std::vector<MemoryLine> memoryLines(const Problem &problem, const std::vector<FixedMemory> &all,
                                    const DeviceProfile &profile, int64_t devices, const Candidate &candidate,
                                    const PeakMoment &peak) {
  static constexpr const char *names[] = {
      "activations",       "logits", "activation gradients", "library workspaces",
      "inputs in scratch", "totals", "per-step values"};
  std::vector<MemoryLine> lines;
  auto addFixed = [&](FixedKind from, MemoryClass kind) {
    for (const FixedMemory &fixed : all)
      if (fixed.kind == from)
        lines.push_back({kind, fixed.name, fixed.bytes.at(candidate.cut.m)});
  };
  addFixed(FixedKind::State, MemoryClass::State);
  int64_t byKind[std::size(names)] = {};
  for (const PeakTensor &tensor : peak.tensors)
    byKind[static_cast<int>(tensor.kind)] += tensor.bytes;
  for (size_t kind = 0; kind < std::size(names); ++kind)
    if (byKind[kind] > 0)
      lines.push_back({MemoryClass::Scratch, names[kind], byKind[kind]});
  if (candidate.scratch > peak.bytes)
    lines.push_back({MemoryClass::Scratch, "gaps", candidate.scratch - peak.bytes});
  addFixed(FixedKind::Inputs, MemoryClass::Inputs);
  addFixed(FixedKind::Library, MemoryClass::Library);
  addFixed(FixedKind::Runtime, MemoryClass::Runtime);
  for (const Overhead &overhead : profile.overheads)
    if (int64_t bytes = bytesOf(overhead, problem, devices, candidate.cut.m); bytes > 0)
      lines.push_back({overhead.counted ? MemoryClass::Runtime : MemoryClass::Context, overhead.name, bytes});
  return lines;
}

void limitMemory(int64_t bytes, DeviceProfile &profile, Options &options) {
  if (profile.memoryTotal == 0) {
    options.budget = bytes;
    return;
  }
  profile.memoryTotal = profile.memoryUsable = bytes;
  for (const Overhead &overhead : profile.overheads)
    if (!overhead.counted && (options.devices > 1 || !overhead.onlyParallel))
      profile.memoryUsable = std::max<int64_t>(0, profile.memoryUsable - overhead.bytes);
}

} // namespace accum::planner
