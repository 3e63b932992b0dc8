// SPDX-License-Identifier: Apache-2.0
// One table: docs/lost-in-export.md says of every function what its file keeps.
#include "compiler/Import/lost/LostArguments.h"
#include "compiler/Import/lost/TracedCall.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace accum::import {
namespace {

struct Argument {
  std::string_view operation; ///< of the call
  std::string_view opType;    ///< of the node that lacks it; other translations have it
  size_t position;
  std::string_view keyword;
  std::string_view wayOut;
};

constexpr Argument kOfValues[] = {
    {"avg_pool2d", "AveragePool", 6, "divisor_override",
     "write it out in the model: an average with divisor_override=1 is avg_pool2d(x, k) * k * k"},
    {"avg_pool3d", "AveragePool", 6, "divisor_override",
     "write it out in the model: an average with divisor_override=1 is avg_pool3d(x, k) * k * k * k"},
};

constexpr Argument kOfGradients[] = {
    {"embedding", "Gather", 3, "scale_grad_by_freq",
     "export with scale_grad_by_freq=False: the gradient of a row is then the sum over its lookups"},
};

/// `None`, `False`, `0` and `0.0`, and what is not written.
bool isOff(std::string_view value) {
  return value.empty() || value == "None" || value == "False" ||
         (value != "True" && std::strtod(std::string(value).c_str(), nullptr) == 0);
}

template <size_t N>
std::optional<Refusal> lostAmong(const Argument (&table)[N], const Node &node, std::string_view consequence) {
  auto mayLack = [&](const Argument &argument) { return argument.opType == node.opType; };
  std::optional<TracedCall> call =
      std::any_of(std::begin(table), std::end(table), mayLack) ? TracedCall::of(node) : std::nullopt;
  for (const Argument &argument : table) {
    if (!call || !mayLack(argument) || call->operation() != argument.operation)
      continue;
    std::string_view value = call->argument(argument.position, argument.keyword);
    if (!isOff(value))
      return Refusal{
          "lost-in-export",
          fmt::format("had {} = {}, which the exporter left out: {}", argument.keyword, value, consequence),
          {std::string(argument.wayOut)}};
  }
  return std::nullopt;
}
} // namespace

std::optional<Refusal> lostArgument(const Node &node) {
  return lostAmong(kOfValues, node, "the graph does not compute the loss of the model");
}

std::optional<Refusal> lostGradientArgument(const Node &node) {
  return lostAmong(kOfGradients, node, "the graph's gradient is not the model's");
}

double labelSmoothing(const Node &node) {
  std::optional<TracedCall> call = TracedCall::of(node);
  if (!call || call->operation() != "cross_entropy_loss")
    return 0;
  return std::strtod(std::string(call->argument(5, "label_smoothing")).c_str(), nullptr);
}

} // namespace accum::import
