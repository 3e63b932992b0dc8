// SPDX-License-Identifier: Apache-2.0
// The checks that make a Problem safe to plan, and the words of its enumerations.
#include "compiler/Planner/Problem/Problem.h"
#include "compiler/Planner/Problem/Recompute.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>
#include <unordered_set>

namespace accum::planner {

Problem withoutLists(const Problem &problem) {
  Problem rest = problem;
  rest.commands.clear();
  rest.buffers.clear();
  return rest;
}

const std::vector<Phase> &usualPhases() {
  static const std::vector<Phase> phases = {{"pre-pass", PhaseKind::Loop},
                                            {"prologue", PhaseKind::Once},
                                            {"micro", PhaseKind::Main},
                                            {"update", PhaseKind::Update}};
  return phases;
}

int Problem::mainPhase() const {
  auto main = std::ranges::find(phases, PhaseKind::Main, &Phase::kind);
  return main == phases.end() ? kNoIndex : static_cast<int>(main - phases.begin());
}

const char *toText(PhaseKind kind) {
  static constexpr const char *words[] = {"loop", "main", "once", "update", "rest"};
  return words[static_cast<int>(kind)];
}

std::string labelOf(const Phase &phase) {
  if (phase.kind == PhaseKind::Main)
    return "micro-step";
  return phase.kind == PhaseKind::Once ? "once per step" : phase.name;
}

const char *toText(CommandKind kind) {
  static constexpr const char *words[] = {"gemm",   "attention", "convolution", "loss",
                                          "kernel", "gather",    "copy",        "update"};
  return words[static_cast<int>(kind)];
}

const char *toText(BufferKind kind) {
  static constexpr const char *words[] = {"activation", "logits", "gradient", "workspace",
                                          "io",         "total",  "constant"};
  return words[static_cast<int>(kind)];
}

const char *toText(FixedKind kind) {
  static constexpr const char *words[] = {"state", "inputs", "library", "runtime"};
  return words[static_cast<int>(kind)];
}

const char *toText(StateRole role) {
  static constexpr const char *words[] = {"other",     "parameters", "master",
                                          "gradients", "optimizer",  "frozen"};
  return words[static_cast<int>(role)];
}

namespace {

Error malformed(std::string message) { return {std::move(message), "malformed-problem"}; }

bool inRange(int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; }

Status checkCommand(const Problem &problem, size_t index) {
  const Command &command = problem.commands[index];
  if (index > 0 && command.phase < problem.commands[index - 1].phase)
    return malformed(fmt::format("command {} of phase {} stands behind phase {}, which comes later",
                                 command.id, problem.phases[command.phase].name,
                                 problem.phases[problem.commands[index - 1].phase].name));
  if (command.id < 0)
    return malformed(fmt::format("command id {} is negative", command.id));
  if (command.tail &&
      (index == 0 || problem.commands[index - 1].tail || problem.commands[index - 1].phase != command.phase ||
       !problem.isMain(command) || command.backward || command.variants.size() > 1))
    return malformed(fmt::format("command {} is a tail: it stands behind another command in the forward part "
                                 "of the micro-step, and has no variants",
                                 command.id));
  if (command.backward && !problem.isMain(command))
    return malformed(fmt::format("command {} is backward, but not of the main loop", command.id));
  if (command.of != kNoIndex &&
      (!inRange(command.of, problem.phases.size()) || problem.phases[command.of].kind != PhaseKind::Once ||
       !problem.isMain(command) || command.backward || !command.once))
    return malformed(
        fmt::format("command {} is of a phase that runs once, but not in the forward part of the "
                    "main loop, or not `once`",
                    command.id));
  if (index > 0 && problem.commands[index - 1].backward && problem.isMain(command) && !command.backward)
    return malformed(fmt::format("command {} is not backward, but stands behind command {}, which is",
                                 command.id, problem.commands[index - 1].id));
  return {};
}

Status checkPhases(const Problem &problem) {
  std::unordered_set<std::string_view> names;
  for (const Phase &phase : problem.phases)
    if (phase.name.empty() || !names.insert(phase.name).second)
      return malformed(fmt::format("two phases have the name `{}`, or one has none", phase.name));
  if (std::ranges::count(problem.phases, PhaseKind::Main, &Phase::kind) > 1)
    return malformed("more than one phase is the main loop");
  for (const Command &command : problem.commands)
    if (command.phase < 0 || static_cast<size_t>(command.phase) >= problem.phases.size())
      return malformed(fmt::format("command {} is of a phase that is not listed", command.id));
  return {};
}

/// Per buffer, whether another one is a view of it.
std::vector<char> viewedBuffers(const Problem &problem) {
  std::vector<char> viewed(problem.buffers.size(), 0);
  for (const Buffer &buffer : problem.buffers)
    if (inRange(buffer.aliasOf, viewed.size()))
      viewed[buffer.aliasOf] = 1;
  return viewed;
}

/// What a variant changes must be a result of its command, with storage of its own and no views.
Status checkResults(const Problem &problem, int index, const Variant &variant,
                    const std::vector<char> &viewed) {
  for (const auto &[result, bytes] : variant.results) {
    if (!bytes.isValid() || !inRange(result, problem.buffers.size()))
      return malformed(fmt::format("command {}, variant {}: the size of a result is malformed",
                                   problem.commands[index].id, variant.name));
    const Buffer &buffer = problem.buffers[result];
    if (buffer.producer != index || buffer.aliasOf != kNoIndex || viewed[result] != 0)
      return malformed(fmt::format("command {}, variant {}: buffer {} is not a result of the command without "
                                   "views",
                                   problem.commands[index].id, variant.name, buffer.id));
  }
  return {};
}

Status checkVariants(const Problem &problem, size_t index, const std::vector<char> &viewed) {
  const Command &command = problem.commands[index];
  if (command.variants.empty() || command.variants.front().name != "default")
    return malformed(fmt::format("the first variant of command {} is not `default`", command.id));
  std::unordered_set<std::string_view> names;
  for (const Variant &variant : command.variants) {
    if (command.variants.size() > 1 && !names.insert(variant.name).second)
      return malformed(fmt::format("command {} has two variants {}", command.id, variant.name));
    if (!variant.flops.isValid() || !variant.bytes.isValid() || !variant.workspace.isValid() ||
        variant.slice < 0 || variant.pieces < 1)
      return malformed(
          fmt::format("command {}, variant {}: an amount is negative, or a table does not start at 1 "
                      "and ascend",
                      command.id, variant.name));
    if (!variant.call.name.empty() && variant.call.sizes.size() != sizeCountOf(variant.call.name))
      return malformed(fmt::format("command {}, variant {}: {} has another number of sizes", command.id,
                                   variant.name, variant.call.name));
    if (Status status = checkResults(problem, static_cast<int>(index), variant, viewed); !status)
      return status;
  }
  if (command.follows != kNoIndex &&
      (!inRange(command.follows, index) || problem.commands[command.follows].follows != kNoIndex))
    return malformed(fmt::format(
        "command {}: what it follows is not an earlier command that chooses for itself", command.id));
  return {};
}

Status checkUsers(const Problem &problem, const Buffer &buffer) {
  size_t commands = problem.commands.size();
  if (buffer.producer != kNoIndex && !inRange(buffer.producer, commands))
    return malformed(fmt::format("buffer {}: its producer is not a command", buffer.id));
  for (int user : buffer.users) {
    if (!inRange(user, commands))
      return malformed(fmt::format("buffer {}: a user is not a command", buffer.id));
    if (user <= buffer.producer)
      return malformed(
          fmt::format("buffer {}: command {} uses it, but its producer, command {}, does not run before",
                      buffer.id, problem.commands[user].id, problem.commands[buffer.producer].id));
  }
  return {};
}

Status checkAliases(const Buffer &buffer, size_t index) {
  if (buffer.aliasOf != kNoIndex && !inRange(buffer.aliasOf, index))
    return malformed(fmt::format("buffer {}: what it is a view of is not an earlier buffer", buffer.id));
  for (int operand : buffer.mayAlias)
    if (!inRange(operand, index))
      return malformed(
          fmt::format("buffer {}: what it may take the place of is not an earlier buffer", buffer.id));
  if (!buffer.mayAlias.empty() && (buffer.producer == kNoIndex || buffer.aliasOf != kNoIndex))
    return malformed(fmt::format(
        "buffer {}: only a result with storage of its own can take an operand's place", buffer.id));
  return {};
}

Status checkCommands(const Problem &problem) {
  std::unordered_set<int64_t> ids;
  std::vector<char> viewed = viewedBuffers(problem);
  constexpr int64_t largest = int64_t{1} << 62;
  for (const Command &command : problem.commands)
    if (command.id >= (problem.cloneIds > 0 ? problem.cloneIds : largest))
      return malformed(fmt::format("command id {}: ids from {} on are those of repetitions", command.id,
                                   problem.cloneIds > 0 ? problem.cloneIds : largest));
  for (size_t index = 0; index < problem.commands.size(); ++index) {
    int64_t id = problem.commands[index].id;
    if (!ids.insert(id).second)
      return malformed(fmt::format("two commands have the id {}", id));
    if (Status status = checkCommand(problem, index); !status)
      return status;
    if (Status status = checkVariants(problem, index, viewed); !status)
      return status;
  }
  return {};
}

Status checkBuffers(const Problem &problem) {
  std::unordered_set<std::string_view> ids;
  int64_t clones = cloneBase(problem);
  std::vector<char> viewed = viewedBuffers(problem), resized(problem.buffers.size(), 0);
  for (const Command &command : problem.commands)
    for (const Variant &variant : command.variants)
      for (const auto &[result, bytes] : variant.results)
        resized[result] = 1;
  for (size_t index = 0; index < problem.buffers.size(); ++index) {
    const Buffer &buffer = problem.buffers[index];
    int64_t number = -1;
    const char *begin = buffer.id.data(), *end = begin + buffer.id.size();
    if (auto [rest, failed] = std::from_chars(begin, end, number);
        failed == std::errc() && rest != end && *rest == ':' && number >= clones)
      return malformed(fmt::format("buffer id {}: ids that begin with {}: or more are those of repetitions",
                                   buffer.id, clones));
    if (buffer.id.empty() || buffer.id.find_first_of(" \t\r\n,\"#=") != std::string::npos)
      return malformed(fmt::format(
          "buffer id `{}`: expected a word without white space, quotes, commas, # and =", buffer.id));
    if (buffer.id.ends_with(":w"))
      return malformed(fmt::format("buffer id {}: ids that end in :w are those of workspaces", buffer.id));
    if (!ids.insert(buffer.id).second)
      return malformed(fmt::format("two buffers have the id {}", buffer.id));
    if (!buffer.bytes.isValid())
      return malformed(fmt::format(
          "buffer {}: its size is negative, or a table does not start at 1 and ascend", buffer.id));
    bool isCopy = buffer.wholeStep && viewed[index] == 0 && resized[index] == 0 &&
                  buffer.aliasOf == kNoIndex && buffer.mayAlias.empty() && buffer.bytes.perSample == 0 &&
                  buffer.bytes.table.empty();
    if (buffer.role != StateRole::Other && (buffer.role != StateRole::Parameters || !isCopy))
      return malformed(
          fmt::format("buffer {}: the role {} is for copies of weights: whole-step, of one size, "
                      "with storage of their own and no views",
                      buffer.id, toText(buffer.role)));
    if (Status status = checkUsers(problem, buffer); !status)
      return status;
    if (Status status = checkAliases(buffer, index); !status)
      return status;
  }
  return {};
}

Status checkGradients(const Problem &problem) {
  std::set<int64_t> micro;
  for (const Command &command : problem.commands)
    if (problem.isMain(command) && !problem.parameters.empty())
      micro.insert(command.id);
  int64_t sum = 0;
  for (const Parameter &parameter : problem.parameters) {
    if (parameter.bytes < 0 || parameter.bytes > kAmountLimit - sum)
      return malformed("gradients must have between 0 and 2^60 bytes together");
    if (parameter.after >= 0 && !micro.contains(parameter.after))
      return malformed(fmt::format("gradient `{}` is final behind command {}, which is not in the micro-step",
                                   parameter.label, parameter.after));
    sum += parameter.bytes;
  }
  return {};
}

} // namespace

Status check(const Problem &problem) {
  if (problem.cloneIds < 0 || problem.cloneIds > int64_t{1} << 62)
    return malformed("the ids of repetitions must begin between 0 and 2^62");
  if (problem.batch < 0 || problem.devices < 0)
    return malformed("batch and devices must not be negative");
  const std::pair<const char *, int64_t> amounts[] = {{"tokens", problem.tokensPerSample},
                                                      {"all-reduce", problem.allReduceBytes},
                                                      {"largest-parameter", problem.largestParameter},
                                                      {"weight-reads", problem.weightReads}};
  for (auto [word, amount] : amounts)
    if (amount < 0 || amount > kAmountLimit)
      return malformed(fmt::format("{} is {}, expected 0 to 2^60", word, amount));
  for (const FixedMemory &line : problem.fixed) {
    if (line.role != StateRole::Other &&
        (line.kind != FixedKind::State || line.bytes.perSample != 0 || !line.bytes.table.empty()))
      return malformed(
          fmt::format("fixed memory `{}` has the role {}, but is not of the state, or depends on m",
                      line.name, toText(line.role)));
    if (!line.bytes.isValid())
      return malformed(
          fmt::format("fixed memory `{}`: its size is negative, or a table does not start at 1 and "
                      "ascend",
                      line.name));
  }
  if (Status status = checkPhases(problem); !status)
    return status;
  if (Status status = checkCommands(problem); !status)
    return status;
  if (Status status = checkGradients(problem); !status)
    return status;
  return checkBuffers(problem);
}

namespace {

/// No sum of sizes may exceed this, alignment included.
constexpr int64_t kTotalLimit = int64_t{1} << 61;
/// What alignment may add to each size.
constexpr int64_t kLargestAlignment = int64_t{1} << 20;

/// Sums the largest values of amounts, and remembers the first that is out of range.
class RangeCheck {
public:
  explicit RangeCheck(int64_t largest) : largest(largest) {}

  template <class Name> void add(const Amount &amount, const Name &name) {
    int64_t value = amount.table.empty() ? amount.at(largest) : 0;
    for (auto [m, bytes] : amount.table)
      value = std::max(value, bytes);
    if (value > kAmountLimit && tooLarge.empty())
      tooLarge = name();
    sum += __int128{2} * (value + kLargestAlignment); // once more where its command runs again
  }

  Status result() const {
    if (tooLarge.empty() && sum <= kTotalLimit)
      return {};
    return Error{fmt::format("{} is larger than {} bytes at this batch",
                             tooLarge.empty() ? "the sum of all sizes" : tooLarge,
                             tooLarge.empty() ? "2^61" : "2^60"),
                 "malformed-problem"};
  }

private:
  int64_t largest;
  __int128 sum = 0;
  std::string tooLarge = {};
};

} // namespace

Status checkAmounts(const Problem &problem, int64_t smallest, int64_t largest) {
  RangeCheck range(largest);
  for (const Buffer &buffer : problem.buffers)
    range.add(buffer.bytes, [&] { return fmt::format("buffer {}", buffer.id); });
  for (const Command &command : problem.commands)
    for (const Variant &variant : command.variants) {
      range.add(variant.workspace, [&] { return fmt::format("the workspace of command {}", command.id); });
      for (const auto &[buffer, bytes] : variant.results)
        range.add(bytes, [&] { return fmt::format("buffer {}", problem.buffers[buffer].id); });
    }
  for (const FixedMemory &fixed : problem.fixed)
    range.add(fixed.bytes, [&] { return fmt::format("fixed memory `{}`", fixed.name); });
  if (Status status = range.result(); !status)
    return status;
  for (const Buffer &buffer : problem.buffers)
    for (int64_t m : {smallest, largest})
      if (buffer.aliasOf != kNoIndex && buffer.bytes.at(m) > problem.buffers[buffer.aliasOf].bytes.at(m))
        return Error{fmt::format("buffer {}: the view is larger than {}, at m = {}", buffer.id,
                                 problem.buffers[buffer.aliasOf].id, m),
                     "malformed-problem"};
  return {};
}

} // namespace accum::planner
