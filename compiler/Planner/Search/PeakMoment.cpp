// SPDX-License-Identifier: Apache-2.0
// Finds the command at which most is alive, and names what is.
#include "compiler/Planner/Search/PeakMoment.h"
#include "compiler/Planner/Search/Storage.h"
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace accum::planner {

namespace {

int loadedMost(const Problem &problem, const Layout &layout) {
  std::vector<int64_t> change(problem.commands.size() + 1, 0);
  for (const Rectangle &block : layout.blocks) {
    change[block.start] += block.size;
    change[block.end] -= block.size;
  }
  int64_t load = 0, largest = 0;
  int peak = kNoIndex;
  for (size_t command = 0; command < problem.commands.size(); ++command) {
    load += change[command];
    if (load > largest) {
      largest = load;
      peak = static_cast<int>(command);
    }
  }
  return peak;
}

std::string describe(const Problem &problem, const Command &command) {
  std::string part = labelOf(problem.phases[command.phase]);
  if (command.node.empty())
    return fmt::format("{}, at {}", part, command.kernel);
  return fmt::format("{}, at {} ({})", part, command.node, command.kernel);
}

} // namespace

PeakMoment peakMoment(const Problem &problem, int64_t m, int64_t alignment) {
  Lifetimes lifetimes(problem);
  Layout layout = layOut(problem, lifetimes, m, alignment);
  PeakMoment peak;
  peak.command = loadedMost(problem, layout);
  if (peak.command == kNoIndex)
    return peak;
  const Command &command = problem.commands[peak.command];
  peak.where = describe(problem, command);
  std::vector<int> occupant(layout.blocks.size(),
                            kNoIndex); // the last to start, where a result took a place over
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    const Lifetimes::Interval &life = lifetimes.life[index];
    int block = layout.blockOfBuffer[index];
    if (lifetimes.root[index] != static_cast<int>(index) || block == kNoIndex)
      continue;
    bool alive = life.start <= peak.command && peak.command < life.end;
    if (alive && (occupant[block] == kNoIndex || lifetimes.life[occupant[block]].start < life.start))
      occupant[block] = static_cast<int>(index);
  }
  for (size_t block = 0; block < occupant.size(); ++block)
    if (occupant[block] != kNoIndex) {
      const Buffer &buffer = problem.buffers[occupant[block]];
      peak.tensors.push_back(
          {buffer.label.empty() ? buffer.id : buffer.label, buffer.kind, layout.blocks[block].size});
    }
  if (int block = layout.blockOfWorkspace[peak.command]; block != kNoIndex)
    peak.tensors.push_back(
        {fmt::format("workspace of {}", command.node.empty() ? command.kernel : command.node),
         BufferKind::Workspace, layout.blocks[block].size});
  std::sort(peak.tensors.begin(), peak.tensors.end(), [](const PeakTensor &a, const PeakTensor &b) {
    return std::tuple(-a.bytes, a.kind, std::string_view(a.label)) <
           std::tuple(-b.bytes, b.kind, std::string_view(b.label));
  });
  for (const PeakTensor &tensor : peak.tensors)
    peak.bytes += tensor.bytes;
  return peak;
}

} // namespace accum::planner
