// SPDX-License-Identifier: Apache-2.0
// Walks ids backward through what moves them, and what was looked up forward through what keeps positions
// apart.
#include "compiler/Import/lost/PaddingReach.h"
#include <algorithm>
#include <cstring>
#include <set>

namespace accum::import {
namespace {

/// The inputs whose elements a node's results hold; none where it computes.
std::vector<size_t> movedInputs(const Node &node) {
  if (isOneOf(node.opType, {"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand",
                            "Transpose", "Slice", "Gather", "GatherND", "GatherElements", "Split"}))
    return {0};
  if (node.opType == "ScatterND" || node.opType == "ScatterElements")
    return {0, 2};
  if (node.opType == "Where")
    return {1, 2};
  std::vector<size_t> all;
  if (node.opType == "Concat")
    for (size_t i = 0; i < node.inputs.size(); ++i)
      all.push_back(i);
  return all;
}

bool compares(const Node &node) {
  return isOneOf(node.opType, {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "IsInf",
                               "IsNaN", "NonZero"});
}

/// Each element of a result is computed from the one in its place; sums run along the last axis at most.
bool keepsPositions(const Node &node) {
  return isOneOf(node.opType, {"Abs",
                               "Add",
                               "Cast",
                               "Clip",
                               "Div",
                               "Dropout",
                               "Elu",
                               "Erf",
                               "Exp",
                               "Gelu",
                               "HardSwish",
                               "Identity",
                               "LeakyRelu",
                               "Log",
                               "Max",
                               "Min",
                               "Mul",
                               "Neg",
                               "Pow",
                               "Relu",
                               "Reciprocal",
                               "Sigmoid",
                               "Softplus",
                               "Sqrt",
                               "Sub",
                               "Swish",
                               "Tanh",
                               "Where",
                               "LayerNormalization"});
}

bool isPooling(const Node &node) { return node.opType.find("Pool") != std::string::npos; }

std::vector<int64_t> integersOf(const Tensor &tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.elementCount()));
  std::span<const std::byte> bytes = tensor.data.bytes();
  if (tensor.dtype != DType::Int64 || values.empty() || bytes.size() != values.size() * sizeof(int64_t))
    return {};
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Where the positions of a sample lie in a value; -1: not known.
struct Positions {
  int64_t axis = -1, rank = -1;
};

class Spread {
public:
  Spread(const Graph &graph, const std::function<bool(const Node &)> &isLookup)
      : graph(graph), paths(graph), isLookup(isLookup) {
    for (const ValueInfo &input : graph.inputs) {
      fromInputs.insert(input.name);
      if (isMask(input))
        masks.insert(input.name);
    }
  }

  /// Of nodes in order: whether it mixes positions.
  bool visit(const Node &node);

  static bool isMask(const ValueInfo &input) { return input.name.find("mask") != std::string::npos; }

private:
  Positions after(const Node &node, const Positions &known) const;
  Positions looked(const Node &node) const;
  bool mixes(const Node &node) const;
  void follow(const Node &node);
  bool reads(const Node &node, const std::set<std::string, std::less<>> &values) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const std::string &input) { return values.count(input) != 0; });
  }

  const Graph &graph;
  IdPaths paths;
  const std::function<bool(const Node &)> &isLookup;
  std::map<std::string, Positions, std::less<>> spread; ///< values of what was looked up
  std::set<std::string, std::less<>> fromInputs, masks; ///< other values; masks tell what is padding
};

Positions Spread::looked(const Node &node) const {
  for (const ValueInfo &input : graph.inputs)
    if (input.name == node.inputs[1] && input.type.shape && input.type.shape->size() == 2)
      return {1, 3};
  const ValueInfo *info = graph.info(node.inputs[1]);
  return info && info->type.shape && info->type.shape->size() == 2 ? Positions{1, 3} : Positions{};
}

bool Spread::mixes(const Node &node) const {
  auto entry = node.inputs.empty() ? spread.end() : spread.find(node.inputs[0]);
  if (entry == spread.end())
    return false;
  const auto *kernel = node.attribute<std::vector<int64_t>>("kernel_shape");
  if (node.opType == "Conv" || isPooling(node))
    return !kernel || std::any_of(kernel->begin(), kernel->end(), [](int64_t size) { return size > 1; });
  if (entry->second.axis < 0)
    return false;
  const auto *rows = node.attribute<int64_t>("axis");
  if (node.opType == "Flatten" && entry->second.axis < entry->second.rank - 1)
    return (rows ? *rows : 1) <= entry->second.axis;
  if (!node.opType.starts_with("Reduce"))
    return false;
  const auto *attribute = node.attribute<std::vector<int64_t>>("axes");
  std::vector<int64_t> axes = attribute                ? *attribute
                              : node.inputs.size() > 1 ? paths.integers(node.inputs[1])
                                                       : std::vector<int64_t>();
  return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) {
    return (axis < 0 ? axis + entry->second.rank : axis) == entry->second.axis;
  });
}

Positions Spread::after(const Node &node, const Positions &known) const {
  const auto *perm = node.attribute<std::vector<int64_t>>("perm");
  if (node.opType == "Transpose" && perm && known.axis >= 0) {
    auto place = std::find(perm->begin(), perm->end(), known.axis);
    return {place == perm->end() ? -1 : place - perm->begin(), known.rank};
  }
  bool isProjected = node.opType == "MatMul" && spread.count(node.inputs[0]) != 0 &&
                     spread.count(node.inputs[1]) == 0 && known.axis != known.rank - 1;
  return keepsPositions(node) || node.opType == "Conv" || isProjected ? known : Positions{};
}

void Spread::follow(const Node &node) {
  Positions known;
  bool isSpread = isLookup(node);
  if (isSpread)
    known = looked(node);
  for (const std::string &input : node.inputs)
    if (auto entry = spread.find(input); entry != spread.end()) {
      isSpread = true;
      known = entry->second.axis >= 0 ? entry->second : known;
    }
  bool isMasked = (node.opType == "Mul" || node.opType == "Where") && reads(node, masks);
  bool isExtent = node.opType == "Shape" || node.opType == "Size";
  for (const std::string &output : node.outputs) {
    if (isSpread && !isMasked && !isExtent && !compares(node))
      spread[output] = isLookup(node) ? known : after(node, known);
    else if (!isSpread && !isExtent && (reads(node, masks) || (compares(node) && reads(node, fromInputs))))
      masks.insert(output);
    if (!isSpread && !isExtent && reads(node, fromInputs))
      fromInputs.insert(output);
  }
}

bool Spread::visit(const Node &node) {
  if (mixes(node))
    return true;
  follow(node);
  return false;
}
} // namespace

bool IdPaths::walk(const std::string &value, const std::function<bool(const std::string &)> &visit) const {
  std::vector<std::string> left{value};
  std::set<std::string> seen{value};
  while (!left.empty()) {
    std::string name = std::move(left.back());
    left.pop_back();
    if (visit(name))
      return true;
    const Node *node = producers.of(name);
    for (size_t i : node ? movedInputs(*node) : std::vector<size_t>())
      if (i < node->inputs.size() && seen.insert(node->inputs[i]).second)
        left.push_back(node->inputs[i]);
  }
  return false;
}

bool IdPaths::isOfInput(const std::string &value) const {
  return walk(value, [&](const std::string &name) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                       [&](const ValueInfo &input) { return input.name == name; });
  });
}

std::vector<int64_t> IdPaths::integers(const std::string &value) const {
  const Tensor *tensor = graph.initializer(value);
  const Node *node = producers.of(value);
  if (node && (node->opType == "Cast" || node->opType == "Identity" || node->opType == "Unsqueeze"))
    return integers(node->inputs[0]);
  if (node && node->opType == "Constant")
    tensor = node->attribute<Tensor>("value");
  return tensor ? integersOf(*tensor) : std::vector<int64_t>();
}

std::optional<int64_t> IdPaths::substitute(const std::string &value) const {
  std::optional<int64_t> found;
  walk(value, [&](const std::string &name) {
    const Node *node = producers.of(name);
    if (!node || node->opType != "Where" || node->inputs.size() != 3)
      return false;
    for (size_t i : {1, 2})
      if (std::vector<int64_t> row = integers(node->inputs[i]);
          row.size() == 1 && isOfInput(node->inputs[3 - i]))
        found = row[0];
    return found.has_value();
  });
  return found;
}

const Node *mixesPositions(const Graph &graph, const std::function<bool(const Node &)> &isLookup) {
  Spread spread(graph, isLookup);
  for (const Node &node : graph.nodes)
    if (spread.visit(node))
      return &node;
  return nullptr;
}

bool hasMaskInput(const Graph &graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), Spread::isMask);
}

} // namespace accum::import
