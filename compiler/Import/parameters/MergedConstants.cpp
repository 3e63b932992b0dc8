// SPDX-License-Identifier: Apache-2.0
// Tells them by the operand of a batch norm, and by the arguments of traced calls.
#include "compiler/Import/parameters/MergedConstants.h"
#include "compiler/Import/lost/TracedCall.h"
#include "compiler/Import/model/Contents.h"
#include <algorithm>
#include <charconv>

namespace accum::import {

/// After a parameter's name: the number or buffer that was merged with it.
static constexpr const char *kConstant = ".constant";

static bool isNumber(std::string_view text, double number) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value == number;
}

std::string statisticAtReader(const Graph &graph, const Signature &signature, const std::string &initializer,
                              const Reader &reader) {
  if (graph.nodes[reader.node].opType != "BatchNormalization" || reader.role != Role::Statistic)
    return "";
  if (!signature.isEmpty() && signature.parameterIn(graph, initializer).empty())
    return "";
  std::string name = moduleNameOf(graph, reader);
  return name.empty() || (name != initializer && graph.initializer(name)) ? initializer + kConstant : name;
}

std::string constantAtReader(const Graph &graph, const Signature &signature, const std::string &initializer,
                             const Reader &reader) {
  if (std::string name = statisticAtReader(graph, signature, initializer, reader); !name.empty())
    return name;
  std::optional<TracedCall> call = TracedCall::of(graph.nodes[reader.node]);
  const Tensor &tensor = *graph.initializer(initializer);
  if (!call || signature.parameterIn(graph, initializer).empty())
    return "";
  std::set<std::string> buffers;
  for (const std::string &operand : call->operands()) {
    if (signature.placeholders.count(operand))
      return "";
    auto buffer = signature.bufferPlaceholders.find(operand);
    if (buffer != signature.bufferPlaceholders.end() && !graph.initializer(buffer->second))
      buffers.insert(buffer->second);
  }
  if (buffers.size() == 1)
    return *buffers.begin();
  bool isOne = tensor.elementCount() == 1 && tensor.data.isPresent();
  auto isIt = [&](const std::string &argument) { return isNumber(argument, elementAt(tensor, 0)); };
  return isOne && std::any_of(call->arguments.begin(), call->arguments.end(), isIt) ? initializer + kConstant
                                                                                    : "";
}

} // namespace accum::import
