// SPDX-License-Identifier: Apache-2.0
// Value numbering: a node's key is its operator, its attributes and the classes of what it reads.
#include "compiler/Import/lost/EqualValues.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accum::import {
namespace {

constexpr uint64_t kLargest = 1 << 12; ///< bytes of a constant that is compared

/// Two of them draw other numbers. A Dropout that is switched off draws none.
bool drawsNumbers(const Node &node) {
  return node.opType.starts_with("Random") || isOneOf(node.opType, {"Bernoulli", "Multinomial"}) ||
         (node.opType == "Dropout" && (node.inputs.size() > 2 || node.opset < 12));
}

/// Nothing for graphs and large tensors.
std::optional<std::string> textOf(const AttributeValue &value) {
  if (const auto *tensor = std::get_if<Tensor>(&value)) {
    if (!tensor->data.isPresent() || tensor->data.length > kLargest)
      return std::nullopt;
    std::span<const std::byte> bytes = tensor->data.bytes();
    return fmt::format("{} {} {}", static_cast<int>(tensor->dtype), fmt::join(tensor->shape, ","),
                       std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  }
  if (const auto *number = std::get_if<float>(&value))
    return fmt::format("{}", *number);
  if (const auto *integer = std::get_if<int64_t>(&value))
    return fmt::format("{}", *integer);
  if (const auto *text = std::get_if<std::string>(&value))
    return *text;
  if (const auto *numbers = std::get_if<std::vector<float>>(&value))
    return fmt::format("{}", fmt::join(*numbers, ","));
  if (const auto *integers = std::get_if<std::vector<int64_t>>(&value))
    return fmt::format("{}", fmt::join(*integers, ","));
  return std::nullopt;
}

/// Nothing where the node equals no other one.
std::optional<std::string> keyOf(const Node &node, const std::vector<std::string> &inputs) {
  if (drawsNumbers(node))
    return std::nullopt;
  std::string key = fmt::format("{} {} {}", node.domain, node.opType, fmt::join(inputs, " "));
  for (const auto &[name, value] : node.attributes) {
    std::optional<std::string> text = textOf(value);
    if (!text)
      return std::nullopt;
    key += fmt::format(" {}={}", name, *text);
  }
  return key;
}
} // namespace

EqualValues::EqualValues(const Graph &graph) {
  std::unordered_map<std::string, const Node *> seen;
  for (const Node &node : graph.nodes) {
    std::vector<std::string> inputs;
    for (const std::string &input : node.inputs)
      inputs.push_back(classOf(input));
    if (node.opType == "Identity" && inputs.size() == 1 && node.outputs.size() == 1) {
      classes.emplace(node.outputs[0], inputs[0]);
      continue;
    }
    std::optional<std::string> key = keyOf(node, inputs);
    const Node *first = key ? seen.emplace(*key, &node).first->second : &node;
    for (size_t i = 0; first != &node && i < std::min(first->outputs.size(), node.outputs.size()); ++i)
      classes.emplace(node.outputs[i], first->outputs[i]);
  }
}

const std::string &EqualValues::classOf(const std::string &value) const {
  auto entry = classes.find(value);
  return entry == classes.end() ? value : entry->second;
}

bool EqualValues::areEqual(const std::string &a, const std::string &b) const {
  return classOf(a) == classOf(b);
}

} // namespace accum::import
