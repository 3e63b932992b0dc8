// SPDX-License-Identifier: Apache-2.0
// Pairs what calls read with what nodes read, and tells harmless rewrites from the others.
#include "compiler/Import/lost/DroppedValues.h"
#include "compiler/Import/lost/FrameworkSteps.h"
#include "compiler/Import/lost/SourceTrace.h"
#include "compiler/Import/parameters/Signature.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <regex>

namespace accum::import {
namespace {

/// They move elements or copy them. Optimisers join them, and drop those that leave all where it is.
bool moves(std::string_view operation) {
  return operation.starts_with("view_as_") ||
         isOneOf(operation,
                 {"view",   "_unsafe_view", "reshape",   "transpose", "t",         "permute",
                  "expand", "slice",        "unsqueeze", "squeeze",   "select",    "split",
                  "unbind", "getitem",      "clone",     "cat",       "flatten",   "alias",
                  "flip",   "roll",         "repeat",    "stack",     "tile",      "unfold",
                  "narrow", "index",        "chunk",     "movedim",   "unflatten", "split_with_sizes"});
}

/// Operations whose like optimisers join with them: one reshape does for two.
std::string_view family(std::string_view operation) {
  return isOneOf(operation, {"view", "_unsafe_view", "reshape", "flatten", "unflatten"}) ? "reshape"
         : isOneOf(operation, {"transpose", "permute", "t", "movedim"})                  ? "transpose"
                                                                                         : operation;
}

/// They often happen to change nothing: a slice of everything, a conversion to the type that it has.
bool oftenChangesNothing(std::string_view operation) {
  return isOneOf(operation,
                 {"slice", "alias", "type_as", "_to_copy", "expand", "cat", "unsqueeze", "squeeze"});
}

/// Operators of ONNX that take the place of several calls.
bool joinsCalls(std::string_view opType) {
  return isOneOf(opType, {"RMSNormalization", "LayerNormalization", "Attention", "Conv", "Gelu"});
}

/// Names of indices, through which no gradient goes: the second argument of these.
std::vector<std::string> indicesOf(const TracedCall &call) {
  TracedCall indices;
  if (isOneOf(call.operation(), {"index", "_unsafe_index", "index_put", "index_put_", "embedding"}) &&
      call.arguments.size() > 1)
    indices.arguments = {call.arguments[1]};
  return indices.operands();
}

bool isCopy(std::string_view operation) { return operation == "clone" || operation == "copy"; }

bool isDetached(std::string_view result) { return withoutNumber(result) == "detach"; }

/// Extents of the traced batch.
bool isExtent(std::string_view result) {
  return result.starts_with("sym_") || withoutNumber(result) == "floordiv" ||
         result.starts_with("_local_scalar_dense");
}

/// The library's own layers detach no value that they also compute with otherwise, and multiply by what may
/// be one. Modules of the framework, and of the user's, can lie in them.
bool isFromTransformers(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.class_hierarchy");
  std::vector<std::string> classes =
      entry == node.metadata.end() ? std::vector<std::string>() : quotedStrings(entry->second);
  if (!classes.empty())
    classes.pop_back(); // the node itself
  auto owner = std::find_if(classes.rbegin(), classes.rend(),
                            [](const std::string &name) { return !name.starts_with("torch.nn."); });
  return owner != classes.rend() && owner->starts_with("transformers.");
}

/// `wte_weight` of `wte.weight`.
std::string flattened(std::string name) {
  auto isOther = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  std::replace_if(name.begin(), name.end(), isOther, '_');
  return name;
}

std::string_view original(const Graph &graph, std::string_view value) {
  const ValueInfo *info = graph.info(value);
  auto entry = info ? info->metadata.find("pkg.torch.onnx.original_node_name") : Metadata::const_iterator();
  return info && entry != info->metadata.end() ? std::string_view(entry->second) : std::string_view();
}
} // namespace

DroppedValues::DroppedValues(const Graph &graph) : graph(graph) {
  Signature signature = Signature::of(graph);
  for (const auto &[placeholder, target] : signature.placeholders)
    trainedPlaceholders.insert(placeholder);
  held.insert(signature.inputs.begin(), signature.inputs.end());
  auto name = [&](const std::string &value) {
    held.insert(value);
    if (std::string_view placeholder = original(graph, value); !placeholder.empty())
      placeholders.emplace(value, placeholder);
  };
  for (const ValueInfo &input : graph.inputs)
    name(input.name);
  for (const Tensor &tensor : graph.initializers) {
    name(tensor.name);
    for (const char *kind : {"p_", "b_", "c_"}) // as torch.export calls parameters, buffers and constants
      held.insert(kind + flattened(tensor.name));
  }
  collectGroups(graph);
  collectHints(graph);
  std::set<std::string, std::less<>> read;
  for (const auto &[result, group] : groups)
    for (std::string &operand : group.call.operands())
      read.insert(std::move(operand));
  holdsAllParameters =
      std::all_of(signature.placeholders.begin(), signature.placeholders.end(), [&](const auto &placeholder) {
        return signature.held.count(placeholder.second) != 0 || read.count(placeholder.first) != 0;
      });
  for (const auto &[result, group] : groups)
    if (std::vector<DroppedValue> found = droppedBy(group); !found.empty())
      dropped.emplace(&group, std::move(found));
}

void DroppedValues::collectGroups(const Graph &graph) {
  for (const Node &node : graph.nodes) {
    held.insert(node.outputs.begin(), node.outputs.end());
    if (node.outputs.size() > 1)
      pieces.insert(node.outputs.begin(), node.outputs.end());
    std::optional<TracedCall> call = TracedCall::of(node);
    if (!call)
      continue;
    std::string result = call->result;
    Group &group = groups.try_emplace(std::move(result), Group{std::move(*call), {}, {}}).first->second;
    group.nodes.push_back(&node);
    groupOf.emplace(&node, &group);
    for (const std::string &output : node.outputs)
      producers[output] = &group;
  }
  for (auto &[result, group] : groups)
    for (const Node *node : group.nodes)
      for (const std::string &input : node->inputs) {
        auto producer = producers.find(input);
        bool isOutside = producer == producers.end() || producer->second != &group;
        bool isKnown = group.nodes.size() > 1 &&
                       std::find(group.inputs.begin(), group.inputs.end(), input) != group.inputs.end();
        if (!input.empty() && isOutside && !isKnown)
          group.inputs.push_back(input);
      }
}

/// Lines of source that detach something, and whose nodes have nothing to do with a value called so; or
/// numbers of detached values that are missing among others.
void DroppedValues::collectHints(const Graph &graph) {
  static const std::regex cuts(
      R"(\.detach\(|\bno_grad\b|\.data\b|stop_grad|inference_mode|set_grad_enabled)");
  std::set<std::string_view> spoken, accounted;
  std::set<size_t> numbers;
  auto count = [&](std::string_view name) {
    if (isDetached(name))
      numbers.insert(name.size() < 8 ? 0 : std::strtoul(std::string(name.substr(7)).c_str(), nullptr, 10));
    return isDetached(name);
  };
  for (const Node &node : graph.nodes) {
    std::optional<TracedCall> call = TracedCall::of(node);
    bool namesOne = call && count(call->result);
    for (const std::string &operand : call ? call->operands() : std::vector<std::string>())
      namesOne |= count(operand);
    for (const SourceFrame &frame : sourceFrames(node))
      if (std::regex_search(frame.code.begin(), frame.code.end(), cuts))
        (namesOne ? accounted : spoken).insert(frame.code);
  }
  speaksOfDetaching = !std::includes(accounted.begin(), accounted.end(), spoken.begin(), spoken.end()) ||
                      (!numbers.empty() && numbers.size() <= *numbers.rbegin());
}

bool DroppedValues::isRead(std::string_view operand, std::string_view input) const {
  if (operand == input || (withoutNumber(operand) == "getitem" && pieces.count(input) != 0))
    return true;
  auto producer = producers.find(input);
  if (producer != producers.end())
    return producer->second->call.result == operand;
  auto placeholder = placeholders.find(input);
  return placeholder != placeholders.end() && placeholder->second == operand;
}

/// A node of the file detaches it, and the group reads that one.
bool DroppedValues::isKept(const Group &group, const std::string &operand) const {
  return std::any_of(group.inputs.begin(), group.inputs.end(), [&](const std::string &input) {
    auto producer = producers.find(input);
    return producer != producers.end() && producer->second->call.result == operand;
  });
}

bool DroppedValues::isDropped(const Group &group, const std::string &operand) const {
  if (isDetached(operand))
    return !isKept(group, operand);
  return held.count(operand) == 0 && groups.find(operand) == groups.end() && !isExtent(operand);
}

/// The node reads one value for each that its call reads, in order.
bool DroppedValues::isOneToOne(const Group &group, const std::vector<std::string> &operands) const {
  if (group.nodes.size() > 1 || operands.size() > group.inputs.size())
    return false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!isDropped(group, operands[i]) && !isRead(operands[i], group.inputs[i]) &&
        !graph.initializer(group.inputs[i]))
      return false;
  return true;
}

/// What the group reads and its call does not name. Initializers that are parameters have other names where
/// they were transposed or merged: as many as the call takes are expected. Where nothing is left, what the
/// call names stands there for itself and for its twin.
std::vector<std::string> DroppedValues::standIns(const Group &group,
                                                 const std::vector<std::string> &operands) const {
  std::vector<std::string> values, parameters;
  for (const std::string &input : group.inputs) {
    bool isNamed = std::any_of(operands.begin(), operands.end(),
                               [&](const std::string &operand) { return isRead(operand, input); });
    const Tensor *tensor = graph.initializer(input);
    bool isNumber = tensor && (!isFloat(tensor->dtype) || tensor->elementCount() == 1);
    if (!isNamed && !isNumber)
      (tensor ? parameters : values).push_back(input);
  }
  auto expected = std::count_if(operands.begin(), operands.end(), [&](const std::string &operand) {
    return trainedPlaceholders.count(operand) != 0 &&
           std::none_of(group.inputs.begin(), group.inputs.end(),
                        [&](const std::string &input) { return isRead(operand, input); });
  });
  if (static_cast<ptrdiff_t>(parameters.size()) > expected)
    values.insert(values.end(), parameters.begin(), parameters.end());
  auto detached = std::count_if(operands.begin(), operands.end(), [&](const std::string &operand) {
    return isDetached(operand) && isDropped(group, operand);
  });
  return static_cast<ptrdiff_t>(values.size()) < std::max<ptrdiff_t>(detached, 1) ? group.inputs : values;
}

std::vector<DroppedValue> DroppedValues::droppedBy(const Group &group) const {
  std::vector<std::string> operands = group.call.operands(), indices = indicesOf(group.call);
  std::vector<DroppedValue> found;
  bool isOrdered = isOneToOne(group, operands);
  std::vector<std::string> left = standIns(group, operands);
  auto isMoved = [&](const std::string &input) {
    auto producer = producers.find(input);
    return producer != producers.end() && moves(producer->second->call.operation());
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    bool isIndex = std::find(indices.begin(), indices.end(), operands[i]) != indices.end();
    if (isIndex || !isDropped(group, operands[i]))
      continue;
    // A complex view is of what lies in pairs: it and its other factor, often a constant, are told apart.
    auto pair = operands[i].starts_with("view_as_complex") ? std::find_if(left.begin(), left.end(), isMoved)
                                                           : left.end();
    if (isOrdered)
      found.push_back({operands[i], group.inputs[i]});
    else if (pair != left.end())
      found.push_back({operands[i], *pair});
    else
      for (const std::string &input : left)
        found.push_back({operands[i], input});
    if (!isOrdered && pair != left.end() && left.size() > 1)
      left.erase(pair);
  }
  return found;
}

DroppedValues::Lost DroppedValues::lostWith(const Group &group, const DroppedValue &value) const {
  std::string_view operation = withoutNumber(value.name), reader = group.call.operation();
  if (isDetached(value.name))
    return Lost::Detach;
  auto producer = producers.find(value.input);
  const TracedCall *source = producer == producers.end() ? nullptr : &producer->second->call;
  Lost unlessHarmless = speaksOfDetaching ? Lost::Step : Lost::Nothing;
  if (operation == "getitem")
    return Lost::Nothing;
  bool isJoined = std::any_of(group.nodes.begin(), group.nodes.end(),
                              [](const Node *node) { return joinsCalls(node->opType); });
  const Node *maker = source ? producer->second->nodes.back() : nullptr;
  bool isStep = maker && isStepOfOneLine(*maker, *group.nodes.front(), operation);
  isStep |= holdsAllParameters && isFirstTurn(group.call, value.name);
  if (isStep || (isJoined && !moves(operation)))
    return unlessHarmless;
  bool isTwin = source && withoutNumber(source->result) == operation && source->result != value.name &&
                family(operation) != family(reader);
  bool isAgain = isTwin && maker && isWrittenTwice(*maker, *group.nodes.front(), operation);
  if (isTwin)
    return isAgain || isFromTransformers(*producer->second->nodes.front()) ? unlessHarmless : Lost::Twin;
  bool isMove = moves(operation) && ((source && moves(source->operation())) || moves(reader));
  bool isHarmless = isMove || oftenChangesNothing(operation) || isFromTransformers(*group.nodes.front());
  return isHarmless ? unlessHarmless : Lost::Step;
}

std::vector<DroppedValue> DroppedValues::readBy(const Node &node) const {
  auto group = groupOf.find(&node);
  auto entry = group == groupOf.end() ? dropped.end() : dropped.find(group->second);
  std::vector<DroppedValue> found;
  for (const DroppedValue &value : entry == dropped.end() ? std::vector<DroppedValue>() : entry->second)
    if (std::find(node.inputs.begin(), node.inputs.end(), value.input) != node.inputs.end())
      found.push_back(value);
  return found;
}

bool DroppedValues::readsInPlace(const Node &node,
                                 const std::function<bool(const std::string &)> &isTrained) const {
  std::vector<DroppedValue> values = readBy(node);
  return std::any_of(values.begin(), values.end(),
                     [&](const DroppedValue &value) { return isTrained(value.input); });
}

std::optional<Refusal> DroppedValues::refusal(const Node &node,
                                              const std::function<bool(const std::string &)> &isTrained,
                                              bool isExplained) const {
  for (const DroppedValue &value : readBy(node)) {
    Lost lost = lostWith(*groupOf.at(&node), value);
    bool isHarmless = lost == Lost::Nothing || (isExplained && lost != Lost::Detach);
    if (isHarmless || !isTrained(value.input))
      continue;
    std::string what =
        lost == Lost::Detach ? "a value that the model detached from its gradient (`detach()`), which the "
                               "exporter left out: the "
                               "graph's gradient is not the model's"
        : lost == Lost::Twin
            ? fmt::format(
                  "which the exporter merged with the equal `{}`: where a `detach()` made them two, it is "
                  "gone, and the graph's gradient is not the model's",
                  value.input)
        : isCopy(withoutNumber(value.name))
            ? fmt::format("a copy of `{}` that the exporter left out: the file does not say whether "
                          "`x.clone()` or `x.detach().clone()` made it",
                          value.input)
            : fmt::format(
                  "which the exporter left out since it equals `{}`: where it was there for its gradient, "
                  "as `detach()` and reversed gradients are, that is gone",
                  value.input);
    return Refusal{
        "lost-in-export",
        fmt::format("reads `{}`, {}", value.name, what),
        {"export with optimize=False, which keeps it: torch.onnx.export(..., dynamo=True, optimize=False)"}};
  }
  return std::nullopt;
}

} // namespace accum::import
