// SPDX-License-Identifier: Apache-2.0
// Everything a candidate takes, line by line.
#include "compiler/Planner/MemoryLines.h"
#include <iterator>

namespace accum::planner {

std::vector<MemoryLine> memoryLines(const std::vector<FixedMemory> &all, const DeviceProfile &profile,
                                    int64_t devices, const Candidate &candidate, const PeakMoment &peak) {
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
    if (!overhead.onlyParallel || devices > 1)
      lines.push_back(
          {overhead.counted ? MemoryClass::Runtime : MemoryClass::Context, overhead.name, overhead.bytes});
  return lines;
}

} // namespace accum::planner
