// SPDX-License-Identifier: Apache-2.0
// The line-text form of a Problem, written.
#include "compiler/Planner/Problem/ProblemLine.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include <fmt/format.h>
#include <iterator>

namespace accum::planner {

namespace {

using Out = std::back_insert_iterator<std::string>;

void writeCosts(Out out, const Variant &variant) {
  for (auto [key, amount] : {std::pair{"flops", &variant.flops}, std::pair{"bytes", &variant.bytes},
                             std::pair{"workspace", &variant.workspace}})
    if (!amount->isZero())
      fmt::format_to(out, " {}={}", key, toText(*amount));
  if (variant.slice != 0)
    fmt::format_to(out, " slice={}", variant.slice);
  if (variant.pieces != 1)
    fmt::format_to(out, " pieces={}", variant.pieces);
  if (!variant.call.name.empty())
    fmt::format_to(out, " call={}", toText(variant.call));
  for (const OperationCount &count : variant.work)
    fmt::format_to(out, " work={}", toText(count));
}

void writeCommand(Out out, const Problem &problem, const Command &command) {
  fmt::format_to(out, "command {} {} {} {}", command.id, quoted(problem.phases[command.phase].name),
                 toText(command.kind), quoted(command.kernel));
  if (!command.node.empty())
    fmt::format_to(out, " node={}", quoted(command.node));
  if (command.dtype != "f32")
    fmt::format_to(out, " dtype={}", quoted(command.dtype));
  if (command.follows != kNoIndex)
    fmt::format_to(out, " follows={}", problem.commands[command.follows].id);
  if (command.of != kNoIndex)
    fmt::format_to(out, " of={}", quoted(problem.phases[command.of].name));
  writeCosts(out, command.variants.front());
  fmt::format_to(out, "{}{}{}\n", command.backward ? " backward" : "", command.once ? " once" : "",
                 command.tail ? " tail" : "");
}

void writePlaces(Out out, const Problem &problem, const std::vector<int> &mayAlias) {
  for (size_t index = 0; index < mayAlias.size(); ++index)
    fmt::format_to(out, "{}{}", index == 0 ? " may-alias=" : ",", problem.buffers[mayAlias[index]].id);
}

void writeVariants(Out out, const Problem &problem, const Command &command) {
  for (size_t index = 1; index < command.variants.size(); ++index) {
    const Variant &variant = command.variants[index];
    fmt::format_to(out, "variant {} {}", command.id, quoted(variant.name));
    writeCosts(out, variant);
    for (const auto &[buffer, bytes] : variant.results)
      fmt::format_to(out, " result={}@{}", problem.buffers[buffer].id, toText(bytes));
    fmt::format_to(out, "\n");
  }
}

void writeBuffer(Out out, const Problem &problem, const Buffer &buffer) {
  fmt::format_to(out, "buffer {} {} {}", buffer.id, toText(buffer.kind), toText(buffer.bytes));
  if (buffer.wholeStep)
    fmt::format_to(out, " whole-step");
  if (buffer.role != StateRole::Other)
    fmt::format_to(out, " role={}", toText(buffer.role));
  if (buffer.producer != kNoIndex)
    fmt::format_to(out, " producer={}", problem.commands[buffer.producer].id);
  for (size_t index = 0; index < buffer.users.size(); ++index)
    fmt::format_to(out, "{}{}", index == 0 ? " users=" : ",", problem.commands[buffer.users[index]].id);
  if (buffer.aliasOf != kNoIndex)
    fmt::format_to(out, " alias={}", problem.buffers[buffer.aliasOf].id);
  writePlaces(out, problem, buffer.mayAlias);
  if (!buffer.label.empty())
    fmt::format_to(out, " label={}", quoted(buffer.label));
  fmt::format_to(out, "\n");
}

} // namespace

std::string toText(const Problem &problem) {
  std::string text = "accum-problem 1\n";
  Out out(text);
  if (!problem.name.empty())
    fmt::format_to(out, "name {}\n", quoted(problem.name));
  for (auto [word, value] :
       {std::pair{"batch", problem.batch}, std::pair{"devices", problem.devices},
        std::pair{"tokens", problem.tokensPerSample}, std::pair{"all-reduce", problem.allReduceBytes},
        std::pair{"largest-parameter", problem.largestParameter},
        std::pair{"weight-reads", problem.weightReads}, std::pair{"whole-update", problem.wholeUpdate},
        std::pair{"clone-ids", problem.cloneIds}})
    if (value != 0)
      fmt::format_to(out, "{} {}\n", word, value);
  for (const FixedMemory &fixed : problem.fixed)
    fmt::format_to(out, "fixed {} {} {}{}{}\n", toText(fixed.kind), quoted(fixed.name), toText(fixed.bytes),
                   fixed.role == StateRole::Other ? "" : " role=",
                   fixed.role == StateRole::Other ? "" : toText(fixed.role));
  for (const Parameter &parameter : problem.parameters)
    fmt::format_to(out, "gradient {}{}{}\n", parameter.bytes,
                   parameter.after < 0 ? "" : fmt::format(" after={}", parameter.after),
                   parameter.label.empty() ? "" : " label=" + quoted(parameter.label));
  if (problem.phases != usualPhases())
    for (const Phase &phase : problem.phases)
      fmt::format_to(out, "phase {} {}\n", quoted(phase.name), toText(phase.kind));
  for (const Command &command : problem.commands)
    writeCommand(out, problem, command);
  for (const Buffer &buffer : problem.buffers)
    writeBuffer(out, problem, buffer);
  for (const Command &command : problem.commands)
    writeVariants(out, problem, command);
  return text;
}

} // namespace accum::planner
