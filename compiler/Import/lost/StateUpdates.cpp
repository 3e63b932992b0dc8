// SPDX-License-Identifier: Apache-2.0
// Reads the outputs of the export's signature, such as `add: BUFFER_MUTATION target='c'`.
#include "compiler/Import/lost/StateUpdates.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/parameters/Signature.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {
namespace {

/// A value that stands for the target is among what the loss needs: the target itself, what was folded from
/// it, or, where exporters merged it with an equal one, a call that names it.
bool isRead(const Graph &graph, const std::set<std::string> &needed, const Signature &signature,
            const std::string &target) {
  if (needed.count(target) != 0)
    return true;
  for (const Tensor &tensor : graph.initializers) {
    std::vector<std::string> sources = foldedFrom(graph, tensor.name);
    bool isSource = std::find(sources.begin(), sources.end(), target) != sources.end();
    if (isSource && needed.count(tensor.name) != 0)
      return true;
  }
  auto reads = [&](const Node &node) {
    bool isNeeded = std::any_of(node.outputs.begin(), node.outputs.end(),
                                [&](const std::string &output) { return needed.count(output) != 0; });
    std::optional<TracedCall> call = isNeeded ? TracedCall::of(node) : std::nullopt;
    std::vector<std::string> operands = call ? call->operands() : std::vector<std::string>();
    return std::any_of(operands.begin(), operands.end(), [&](const std::string &operand) {
      auto buffer = signature.bufferPlaceholders.find(operand);
      return buffer != signature.bufferPlaceholders.end() && buffer->second == target;
    });
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), reads);
}

Failure failureOf(const StateUpdate &update) {
  using Kind = StateUpdate::Kind;
  std::string what = update.kind == Kind::Buffer ? "is a buffer that forward updates and the loss depends on"
                     : update.kind == Kind::Parameter
                         ? "is a parameter that forward overwrites (`max_norm` of an embedding does)"
                         : "is an input that forward overwrites";
  std::vector<std::string> notes =
      update.kind == Kind::Buffer
          ? std::vector<
                std::string>{"where only training updates it, export after model.eval(): it then stays "
                             "as it is",
                             "or make it an input of the model, and update it outside"}
          : std::vector<std::string>{
                "let forward compute with a copy (x.clone()) instead of writing in place"};
  return {"lost-in-export", backquoted(update.target),
          what + ": the exporter left the update out, and the next step would not be the model's", notes};
}
} // namespace

std::optional<Failure> lostUpdate(const Graph &graph, const std::set<std::string> &needed) {
  Signature signature = Signature::of(graph);
  for (const StateUpdate &update : signature.updates)
    if (update.kind != StateUpdate::Kind::Buffer || isRead(graph, needed, signature, update.target))
      return failureOf(update);
  return std::nullopt;
}

std::optional<std::string> unreadUpdates(const Graph &graph, const std::set<std::string> &needed) {
  Signature signature = Signature::of(graph);
  std::string names;
  for (const StateUpdate &update : signature.updates) {
    std::string_view counter = "num_batches_tracked";
    bool isCounter = update.target.ends_with(counter);
    if (update.kind == StateUpdate::Kind::Buffer && !isCounter &&
        !isRead(graph, needed, signature, update.target))
      names += (names.empty() ? "`" : ", `") + update.target + "`";
  }
  if (names.empty())
    return std::nullopt;
  return fmt::format(
      "{}: forward updates it, the file does not, and the loss does not read it: it stays as it "
      "is in the file",
      names);
}

} // namespace accum::import
