// SPDX-License-Identifier: Apache-2.0
// The problem that runs, with repetitions and chosen variants.
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Recompute.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace accum::planner {

namespace {

/// The command as it runs in one of its variants, whose results are the buffers' own sizes now.
Command runningAs(const Command &command, const Variant &variant) {
  Command running = command;
  running.follows = kNoIndex;
  running.variants = {variant};
  running.variants.front().results.clear();
  return running;
}

/// In the backward part of the main loop, or in a phase after that.
bool isMadeLate(const Problem &problem, const Command &producer) {
  int main = problem.mainPhase();
  return producer.backward || (main != kNoIndex && producer.phase > main);
}

/// The buffer without its links to others.
Buffer unlinked(Buffer buffer) {
  buffer.producer = buffer.aliasOf = kNoIndex;
  buffer.users.clear();
  buffer.mayAlias.clear();
  return buffer;
}

class Expander {
public:
  Expander(const Problem &problem, const Choice &choice)
      : problem(problem), choice(choice), base(cloneBase(problem)), flow(problem),
        before(flow.positions(choice.recomputed)), order(before), sizes(problem.buffers.size(), nullptr) {}

  Problem run() {
    result = withoutLists(problem);
    chooseVariants();
    placeCommands();
    placeBuffers();
    linkBuffers();
    return std::move(result);
  }

private:
  /// What became of a buffer: indices into the result's.
  struct Pair {
    int original = kNoIndex, clone = kNoIndex;
  };

  void chooseVariants();
  void placeCommands();
  void placeBuffers();
  void linkBuffers();
  /// Whether what is late reads a second buffer.
  bool isTwofold(int buffer) const {
    int producer = problem.buffers[flow.root(buffer)].producer;
    return producer != kNoIndex && before[producer] != kNoIndex;
  }
  /// The place of what makes that one.
  int secondProducer(int buffer) const { return commands[problem.buffers[flow.root(buffer)].producer].clone; }
  /// The original buffer, or its repetition where the reader is late and there is one.
  int seen(int buffer, bool late) const {
    return late && buffers[buffer].clone != kNoIndex ? buffers[buffer].clone : buffers[buffer].original;
  }
  void add(int buffer, bool clone);

  const Problem &problem;
  const Choice &choice;
  int64_t base;
  Recomputation flow;
  std::vector<int> before;
  RunningOrder order;
  std::vector<const Amount *> sizes; ///< per buffer, where the variant changes it
  std::vector<const Variant *> variants;
  std::vector<Pair> commands, buffers;
  std::vector<std::pair<int, bool>> sources; ///< per result buffer: the original, whether a repetition
  Problem result;
};

void Expander::chooseVariants() {
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    const Command &command = problem.commands[index];
    const Variant *chosen = &command.variants.front();
    if (command.follows != kNoIndex) {
      for (const Variant &variant : command.variants)
        if (variant.name == variants[command.follows]->name)
          chosen = &variant;
    } else if (!choice.variants.empty()) {
      chosen = &command.variants[choice.variants[index]];
    }
    variants.push_back(chosen);
    for (const auto &[buffer, bytes] : chosen->results)
      sizes[buffer] = &bytes;
  }
}

void Expander::placeCommands() {
  result.commands.resize(static_cast<size_t>(order.length));
  commands.resize(problem.commands.size());
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    commands[index] = {order.original[index], order.clone[index]};
    Command running = runningAs(problem.commands[index], *variants[index]);
    if (int again = order.clone[index]; again != kNoIndex) {
      Command &clone = result.commands[again] = running;
      clone.cloneOf = running.id;
      clone.id += base;
      clone.backward = true;
    }
    result.commands[order.original[index]] = std::move(running);
  }
}

void Expander::add(int buffer, bool clone) {
  (clone ? buffers[buffer].clone : buffers[buffer].original) = static_cast<int>(sources.size());
  sources.emplace_back(buffer, clone);
}

/// Values of the forward part, then repetitions as they run, then what is made later: each behind what it is
/// a view of and whose place it may take.
void Expander::placeBuffers() {
  buffers.resize(problem.buffers.size());
  auto isLate = [&](size_t buffer) {
    int producer = problem.buffers[flow.root(static_cast<int>(buffer))].producer;
    return producer != kNoIndex && isMadeLate(problem, problem.commands[producer]);
  };
  std::vector<std::pair<int, int>> clones;
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    int buffer = static_cast<int>(index);
    if (!isLate(index))
      add(buffer, false);
    if (isTwofold(buffer))
      clones.emplace_back(secondProducer(buffer), buffer);
  }
  std::sort(clones.begin(), clones.end());
  for (auto [at, buffer] : clones)
    add(buffer, true);
  for (size_t index = 0; index < problem.buffers.size(); ++index)
    if (isLate(index))
      add(static_cast<int>(index), false);
}

void Expander::linkBuffers() {
  result.buffers.reserve(sources.size());
  for (auto [index, clone] : sources) {
    const Buffer &source = problem.buffers[index];
    Buffer buffer = unlinked(source);
    if (sizes[index])
      buffer.bytes = *sizes[index];
    if (clone) {
      const Command &command = problem.commands[problem.buffers[flow.root(index)].producer];
      std::string own = fmt::format("{}:", command.id);
      buffer.id = fmt::format("{}:{}", base + command.id,
                              source.id.starts_with(own) ? source.id.substr(own.size()) : source.id);
    }
    if (source.producer != kNoIndex)
      buffer.producer = clone ? secondProducer(index) : commands[source.producer].original;
    if (source.aliasOf != kNoIndex)
      buffer.aliasOf = clone ? buffers[source.aliasOf].clone : buffers[source.aliasOf].original;
    for (int operand : source.mayAlias)
      buffer.mayAlias.push_back(seen(
          operand, clone || (source.producer != kNoIndex && problem.commands[source.producer].backward)));
    for (int user : source.users) {
      if (clone == (problem.commands[user].backward && isTwofold(index)))
        buffer.users.push_back(commands[user].original);
      if (commands[user].clone != kNoIndex && clone == isTwofold(index))
        buffer.users.push_back(commands[user].clone);
    }
    std::sort(buffer.users.begin(), buffer.users.end());
    result.buffers.push_back(std::move(buffer));
  }
}

} // namespace

int64_t cloneBase(const Problem &problem) {
  if (problem.cloneIds > 0)
    return problem.cloneIds;
  int64_t largest = -1;
  for (const Command &command : problem.commands)
    largest = std::max(largest, command.id);
  return largest + 1;
}

Result<Choice> choiceOf(const Problem &problem, const Plan &plan) {
  Choice choice{std::vector<char>(problem.commands.size(), 0), std::vector<int>(problem.commands.size(), 0)};
  std::unordered_map<int64_t, size_t> commands;
  for (size_t index = 0; index < problem.commands.size(); ++index)
    commands.emplace(problem.commands[index].id, index);
  for (int64_t id : plan.recompute) {
    auto command = commands.find(id);
    if (command == commands.end())
      return Error{fmt::format("the plan recomputes command {}, which is not there", id), "invalid-plan"};
    choice.recomputed[command->second] = 1;
  }
  for (const auto &[id, name] : plan.variants) {
    auto command = commands.find(id);
    const std::vector<Variant> *ways =
        command == commands.end() ? nullptr : &problem.commands[command->second].variants;
    auto way = ways ? std::ranges::find(*ways, name, &Variant::name) : std::vector<Variant>::const_iterator();
    if (!ways || way == ways->end())
      return Error{fmt::format("the plan runs command {} as {}, which is not there", id, name),
                   "invalid-plan"};
    choice.variants[command->second] = static_cast<int>(way - ways->begin());
  }
  return choice;
}

Result<Problem> problemThatRuns(const Problem &problem, const Plan &plan) {
  Result<Choice> choice = choiceOf(problem, plan);
  if (!choice)
    return choice.error();
  Result<Sharing> sharing = sharingOf(plan);
  if (!sharing)
    return sharing.error();
  return expand(sharedProblem(problem, *sharing, plan.devices), *choice);
}

Problem expand(const Problem &problem, const Choice &choice) { return Expander(problem, choice).run(); }

} // namespace accum::planner
