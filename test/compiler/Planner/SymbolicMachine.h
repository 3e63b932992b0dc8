// SPDX-License-Identifier: Apache-2.0
// What a problem computes, in memory that is shared as planned.
#pragma once
#include "compiler/Planner/Problem/Recompute.h"
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace accum::planner {

/// Runs a problem symbolically, once through: a value is a hash of the command and of what it read, memory
/// remembers the values that were written. Returns what each command read, by its id; of repetitions nothing.
class SymbolicMachine {
public:
  SymbolicMachine(const Problem &problem, int64_t m) : problem(problem), m(m) {}

  /// Every storage for itself, or at its place in one memory.
  std::map<int64_t, std::vector<uint64_t>> run(const std::vector<int64_t> *offsets) {
    for (size_t index = 0; index < problem.buffers.size(); ++index)
      root.push_back(problem.buffers[index].aliasOf == kNoIndex ? static_cast<int>(index)
                                                                : root[problem.buffers[index].aliasOf]);
    this->offsets = offsets;
    for (size_t index = 0; index < problem.commands.size(); ++index) {
      const Command &command = problem.commands[index];
      if (index == 0 || command.phase != problem.commands[index - 1].phase)
        bringInputs(command.phase);
      if (index + 1 < problem.commands.size() && isFirstRunOfTail(problem.commands[index + 1]))
        spoilResults(static_cast<int>(index) + 1);
      std::vector<uint64_t> operands;
      uint64_t hash = static_cast<uint64_t>(command.cloneOf < 0 ? command.id : command.cloneOf) + 1;
      for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
        if (std::ranges::count(problem.buffers[buffer].users, static_cast<int>(index)) > 0) {
          operands.push_back(read(static_cast<int>(buffer)));
          hash += mixed(operands.back());
        }
      std::ranges::sort(operands);
      if (command.cloneOf < 0)
        seen[command.id] = operands;
      uint64_t results = 0;
      for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
        if (problem.buffers[buffer].producer == static_cast<int>(index))
          write(static_cast<int>(buffer), hash * 31 + ++results);
    }
    return seen;
  }

private:
  static constexpr int64_t kGrain = 64;

  static bool isFirstRunOfTail(const Command &command) { return command.tail && command.cloneOf < 0; }
  static uint64_t mixed(uint64_t value) { return (value ^ (value >> 29)) * 1099511628211u; }
  /// The kernel of the command before writes them too, while it still reads.
  void spoilResults(int command) {
    for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
      if (problem.buffers[buffer].producer == command)
        write(static_cast<int>(buffer), 0xbad);
  }
  void bringInputs(int phase) {
    for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer) {
      const Buffer &value = problem.buffers[buffer];
      if (value.producer == kNoIndex && value.aliasOf == kNoIndex && !value.users.empty() &&
          problem.commands[*std::ranges::min_element(value.users)].phase == phase)
        write(static_cast<int>(buffer), 7 + std::hash<std::string>()(value.id));
    }
  }
  int64_t place(int buffer) const {
    return offsets ? (*offsets)[root[buffer]] : (int64_t{1} << 40) * (root[buffer] + 1);
  }
  uint64_t read(int buffer) {
    int64_t bytes = problem.buffers[buffer].bytes.at(m);
    return bytes == 0 ? 0 : memory[place(buffer)] * 3 + memory[place(buffer) + (bytes - 1) / kGrain * kGrain];
  }
  void write(int buffer, uint64_t value) {
    for (int64_t at = 0; at < problem.buffers[buffer].bytes.at(m); at += kGrain)
      memory[place(buffer) + at] = value;
  }

  const Problem &problem;
  int64_t m;
  std::vector<int> root;
  const std::vector<int64_t> *offsets = nullptr;
  std::map<int64_t, uint64_t> memory;
  std::map<int64_t, std::vector<uint64_t>> seen;
};

} // namespace accum::planner
