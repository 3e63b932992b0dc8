// SPDX-License-Identifier: Apache-2.0
// Lifetimes over the phases of a step, views merged into their storage, in-place results into their operand.
#include "compiler/Planner/Search/Storage.h"
#include <algorithm>
#include <numeric>

namespace accum::planner {

namespace {

/// Where each phase's commands begin; the last entry is after all.
std::vector<int> phaseBounds(const Problem &problem) {
  int phases = static_cast<int>(problem.phases.size());
  std::vector<int> bounds(problem.phases.size() + 1, static_cast<int>(problem.commands.size()));
  for (int phase = 0; phase < phases; ++phase) {
    auto first = std::partition_point(problem.commands.begin(), problem.commands.end(),
                                      [&](const Command &command) { return command.phase < phase; });
    bounds[phase] = static_cast<int>(first - problem.commands.begin());
  }
  return bounds;
}

/// The command that writes the results of a producer: of a tail that is no repetition, the one before it.
int writerOf(const Problem &problem, int producer) {
  const Command &command = problem.commands[producer];
  return producer - (command.cloneOf < 0 && command.tail ? 1 : 0);
}

int64_t alignUp(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

} // namespace

/// The commands that touch a storage, before the rule about loops.
struct Lifetimes::Span {
  int first = INT32_MAX, last = -1;

  void include(int command) {
    first = std::min(first, command);
    last = std::max(last, command);
  }
};

Lifetimes::Lifetimes(const Problem &problem) {
  for (const Buffer &buffer : problem.buffers)
    root.push_back(buffer.aliasOf == kNoIndex ? static_cast<int>(root.size()) : root[buffer.aliasOf]);
  auto bounds = phaseBounds(problem);
  int commands = static_cast<int>(problem.commands.size());
  std::vector<Span> spans(root.size());
  std::vector<char> whole(root.size(), 0);
  for (size_t index = 0; index < root.size(); ++index) {
    const Buffer &buffer = problem.buffers[index];
    Span &span = spans[root[index]];
    whole[root[index]] |= buffer.wholeStep;
    for (int user : buffer.users)
      span.include(user);
    if (buffer.producer != kNoIndex) {
      span.include(buffer.producer);
      span.include(writerOf(problem, buffer.producer));
    }
  }
  life.resize(root.size());
  crossesLoop.assign(root.size(), 0);
  for (size_t index = 0; index < root.size(); ++index) {
    if (whole[index]) {
      life[index] = {0, commands};
      crossesLoop[index] = 1;
      continue;
    }
    if (spans[index].last < 0)
      continue;
    if (problem.buffers[index].producer == kNoIndex)
      spans[index].include(bounds[problem.commands[spans[index].first].phase]);
    life[index] = {spans[index].first, spans[index].last + 1};
    int from = problem.commands[spans[index].first].phase, to = problem.commands[spans[index].last].phase;
    if (from == to)
      continue;
    crossesLoop[index] = isLoop(problem.phases[to].kind);
    if (isLoop(problem.phases[from].kind))
      life[index].start = bounds[from];
    if (isLoop(problem.phases[to].kind))
      life[index].end = bounds[to + 1];
  }
}

namespace {

/// Builds the layout of one m, storage by storage in the order of their producers.
class LayoutBuilder {
public:
  LayoutBuilder(const Problem &problem, const Lifetimes &lifetimes, int64_t m, int64_t alignment)
      : problem(problem), lifetimes(lifetimes), m(m), alignment(alignment) {
    layout.blockOfBuffer.assign(problem.buffers.size(), kNoIndex);
    layout.blockOfWorkspace.assign(problem.commands.size(), kNoIndex);
    taken.assign(problem.buffers.size(), 0);
  }

  Layout build() {
    std::vector<int> order(problem.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::pair(lifetimes.life[a].start, a) < std::pair(lifetimes.life[b].start, b);
    });
    for (int storage : order)
      if (lifetimes.root[storage] == storage && !lifetimes.life[storage].isEmpty())
        place(storage);
    for (size_t index = 0; index < problem.buffers.size(); ++index)
      layout.blockOfBuffer[index] = layout.blockOfBuffer[lifetimes.root[index]];
    for (size_t command = 0; command < problem.commands.size(); ++command)
      placeWorkspace(static_cast<int>(command));
    return std::move(layout);
  }

private:
  void place(int storage) {
    int64_t size = alignUp(problem.buffers[storage].bytes.at(m), alignment);
    if (size == 0)
      return;
    const Lifetimes::Interval &life = lifetimes.life[storage];
    int from = donor(storage, size);
    if (from == kNoIndex) {
      layout.blockOfBuffer[storage] = static_cast<int>(layout.blocks.size());
      layout.blocks.push_back({life.start, life.end, size});
      return;
    }
    taken[from] = 1;
    layout.blockOfBuffer[storage] = layout.blockOfBuffer[from];
    layout.blocks[layout.blockOfBuffer[from]].end = life.end;
  }

  /// The storage of an operand that dies in this one's producer, has its size, and whose place nobody took
  /// yet.
  int donor(int storage, int64_t size) const {
    const Buffer &buffer = problem.buffers[storage];
    if (buffer.producer == kNoIndex)
      return kNoIndex;
    int writer = writerOf(problem, buffer.producer);
    if (lifetimes.life[storage].start != writer)
      return kNoIndex;
    for (int operand : buffer.mayAlias) {
      int from = lifetimes.root[operand], block = layout.blockOfBuffer[from];
      bool dies = block != kNoIndex && !taken[from] && lifetimes.life[from].start < writer &&
                  lifetimes.life[from].end == writer + 1 && !lifetimes.crossesLoop[from];
      if (dies && layout.blocks[block].size == size &&
          buffer.bytes.at(m) <= problem.buffers[operand].bytes.at(m))
        return from;
    }
    return kNoIndex;
  }

  void placeWorkspace(int command) {
    int64_t size = alignUp(problem.commands[command].variants.front().workspace.at(m), alignment);
    if (size == 0)
      return;
    layout.blockOfWorkspace[command] = static_cast<int>(layout.blocks.size());
    layout.blocks.push_back({command, command + 1, size});
  }

  const Problem &problem;
  const Lifetimes &lifetimes;
  int64_t m, alignment;
  Layout layout = {};
  std::vector<char> taken; ///< per storage
};

} // namespace

Layout layOut(const Problem &problem, const Lifetimes &lifetimes, int64_t m, int64_t alignment) {
  return LayoutBuilder(problem, lifetimes, m, alignment).build();
}

} // namespace accum::planner
