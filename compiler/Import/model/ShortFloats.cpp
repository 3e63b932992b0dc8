// SPDX-License-Identifier: Apache-2.0
// Tells constants that were rounded by the bits that they use.
#include "compiler/Import/model/ShortFloats.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <span>

namespace accum::import {
namespace {

/// The exporter's rounding shows in the last digits; what has few (0.125, a mask's lowest number) was exact.
bool isRounded(const Tensor &tensor) {
  constexpr unsigned lastOfHalf = 0x1f, lastOfBfloat = 0x7, signless = 0x7fff;
  if (computedIn(tensor.dtype) == tensor.dtype)
    return false;
  bool isHalf = tensor.dtype == DType::Float16;
  unsigned last = isHalf ? lastOfHalf : lastOfBfloat, largest = isHalf ? 0x7bff : 0x7f7f;
  std::span<const std::byte> bytes = tensor.data.bytes();
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    unsigned bits = std::to_integer<unsigned>(bytes[i]) | std::to_integer<unsigned>(bytes[i + 1]) << 8U;
    if ((bits & last) != 0 && (bits & signless) < largest)
      return true;
  }
  return false;
}

std::vector<std::string> roundedConstants(const Graph &graph, const ParameterTable &table) {
  std::vector<std::string> names;
  for (const Tensor &tensor : graph.initializers) {
    const Parameter *parameter = table.find(tensor.name);
    if (!(parameter && parameter->trained) && isRounded(tensor))
      names.push_back(tensor.name);
  }
  for (const Node &node : graph.nodes)
    if (const auto *value = node.attribute<Tensor>("value"); value && node.opType == "Constant")
      if (isRounded(*value))
        names.push_back(node.outputs[0]);
  return names;
}

std::string named(const std::vector<std::string> &names) {
  constexpr size_t shown = 4;
  std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  std::vector<std::string> first(names.begin(), names.begin() + std::min(shown, names.size()));
  return fmt::format("`{}`{}", fmt::join(first, "`, `"), more);
}
} // namespace

void noteShortFloats(const Graph &graph, ParameterTable &table) {
  std::set<std::string_view> found;
  auto look = [&](DType dtype) {
    if (computedIn(dtype) != dtype)
      found.insert(name(dtype));
  };
  for (const Tensor &tensor : graph.initializers)
    look(tensor.dtype);
  for (const ValueInfo &input : graph.inputs)
    look(input.type.dtype);
  for (const Node &node : graph.nodes)
    if (const auto *to = node.attribute<int64_t>("to"); to && node.opType == "Cast")
      look(dtypeFromNumber(*to).value_or(DType::Undefined));
  if (found.empty())
    return;
  std::vector<std::string> rounded = roundedConstants(graph, table);
  table.notices.push_back(fmt::format(
      "{} in the file is read exactly, and computed, trained and saved as f32; what the export rounded stays "
      "rounded{}. --precision bf16 computes in 16 bits, and keeps what is trained in f32",
      fmt::join(found, " and "),
      rounded.empty()
          ? ""
          : fmt::format(", of constants {} (model.float() before the export keeps them)", named(rounded))));
}

} // namespace accum::import
