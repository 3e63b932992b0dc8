// SPDX-License-Identifier: Apache-2.0
// The most telling of several traces comes first.
#include "compiler/Import/LostGradients.h"
#include "compiler/Import/LostArguments.h"
#include <algorithm>

namespace accum::import {

std::optional<Refusal>
LostGradients::refusal(const Node &node, const std::function<bool(const std::string &)> &isTrained) const {
  if (std::optional<Refusal> lost = lostArgument(node))
    return lost;
  std::optional<Refusal> lost = lostGradientArgument(node);
  if (!lost)
    lost = custom.refusal(node);
  if (lost && std::any_of(node.inputs.begin(), node.inputs.end(), isTrained))
    return lost;
  if (!dropped.readsInPlace(node, isTrained))
    return std::nullopt;
  lost = custom.refusalOfLine(node);
  return lost ? lost : dropped.refusal(node, isTrained, custom.trustsLineOf(node));
}

} // namespace accum::import
