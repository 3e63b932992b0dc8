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
  /// `asked`: what the problem was made from.
  SymbolicMachine(const Problem &problem, const Problem &asked, int64_t m)
      : problem(problem), asked(asked), m(m) {}

  /// Every storage for itself, or at its place in one memory.
  std::map<int64_t, std::vector<uint64_t>> run(const std::vector<int64_t> *offsets) {
    for (size_t index = 0; index < problem.buffers.size(); ++index)
      root.push_back(problem.buffers[index].aliasOf == kNoIndex ? static_cast<int>(index)
                                                                : root[problem.buffers[index].aliasOf]);
    this->offsets = offsets;
    for (size_t index = 0; index < problem.commands.size(); ++index) {
      const Command &command = problem.commands[index];
      if (index == 0 || command.region != problem.commands[index - 1].region)
        bringInputs(command.region);
      if (index + 1 < problem.commands.size() && isFirstRunOfTail(problem.commands[index + 1]))
        spoilResults(static_cast<int>(index) + 1);
      if (isBeside(command))
        continue;                                    // it ran with its companion
      std::vector<std::pair<int, uint64_t>> besides; // with what they make
      for (size_t beside = index + 1; beside < problem.commands.size(); ++beside)
        if (isBeside(problem.commands[beside]) &&
            problem.commands[beside].companion.command == static_cast<int>(index))
          besides.emplace_back(static_cast<int>(beside), 0);
      for (auto &[beside, hash] : besides) {
        if (!isInPlace(beside))
          spoilResults(beside);
        hash = hashBeside(beside, static_cast<int>(index));
      }
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
      for (auto [beside, made] : besides)
        for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
          if (problem.buffers[buffer].producer == beside)
            write(static_cast<int>(buffer), made * 31 + 1);
    }
    return seen;
  }

private:
  static constexpr int64_t kGrain = 64;

  static bool isFirstRunOfTail(const Command &command) { return command.tail && command.cloneOf < 0; }
  static bool isBeside(const Command &command) {
    return command.cloneOf >= 0 && command.companion.command != kNoIndex;
  }
  static uint64_t mixed(uint64_t value) { return (value ^ (value >> 29)) * 1099511628211u; }
  /// Whether its result stands where an operand of its companion stood, as was offered.
  bool isInPlace(int beside) const {
    for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
      if (problem.buffers[buffer].producer == beside)
        return std::ranges::any_of(problem.buffers[buffer].mayAlias, [&](int operand) {
          return place(operand) == place(static_cast<int>(buffer));
        });
    return false;
  }
  /// Of a repetition in the kernel of command `at`: it reads what that one reads, or what is always there.
  uint64_t hashBeside(int beside, int at) {
    int64_t id = problem.commands[beside].cloneOf;
    auto source = std::ranges::find(asked.commands, id, &Command::id) - asked.commands.begin();
    uint64_t hash = static_cast<uint64_t>(id) + 1;
    Recomputation flow(asked);
    for (size_t number = 0; number < asked.buffers.size(); ++number) {
      const Buffer &operand = asked.buffers[number];
      if (std::ranges::find(operand.users, static_cast<int>(source)) == operand.users.end())
        continue;
      // Itself, or what was made again, whichever the companion reads.
      int seenAs = kNoIndex, producer = asked.buffers[flow.root(static_cast<int>(number))].producer;
      int64_t maker = producer == kNoIndex ? 0 : asked.commands[producer].id;
      std::string own = std::to_string(maker) + ":";
      std::string again = std::to_string(cloneBase(asked) + maker) + ":" +
                          (operand.id.starts_with(own) ? operand.id.substr(own.size()) : operand.id);
      for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer) {
        const std::string &name = problem.buffers[buffer].id;
        bool isRead = operand.wholeStep || readsStorage(at, static_cast<int>(buffer));
        if (isRead && (name == operand.id || name == again))
          seenAs = static_cast<int>(buffer);
      }
      hash += mixed(seenAs == kNoIndex ? 0xbad : read(seenAs));
    }
    return hash;
  }
  bool readsStorage(int command, int buffer) const {
    for (size_t other = 0; other < problem.buffers.size(); ++other)
      if (root[other] == root[buffer] && std::ranges::count(problem.buffers[other].users, command) > 0)
        return true;
    return false;
  }
  /// The kernel of the command before writes them too, while it still reads.
  void spoilResults(int command) {
    for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer)
      if (problem.buffers[buffer].producer == command)
        write(static_cast<int>(buffer), 0xbad);
  }
  void bringInputs(Region region) {
    for (size_t buffer = 0; buffer < problem.buffers.size(); ++buffer) {
      const Buffer &value = problem.buffers[buffer];
      if (value.producer == kNoIndex && value.aliasOf == kNoIndex && !value.users.empty() &&
          problem.commands[*std::ranges::min_element(value.users)].region == region)
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

  const Problem &problem, &asked;
  int64_t m;
  std::vector<int> root;
  const std::vector<int64_t> *offsets = nullptr;
  std::map<int64_t, uint64_t> memory;
  std::map<int64_t, std::vector<uint64_t>> seen;
};

} // namespace accum::planner
