// SPDX-License-Identifier: Apache-2.0
// The most telling of several traces comes first.
#include "compiler/Import/lost/LostGradients.h"
#include "compiler/Import/lost/LostArguments.h"
#include <algorithm>

namespace accum::import {

std::optional<Refusal>
LostGradients::refusal(const Node &node, const std::function<bool(const std::string &)> &isTrained) const {
  if (std::optional<Refusal> lost = lostArgument(node))
    return lost;
  // A backward of its own may give what the operator does not.
  std::optional<Refusal> lost = custom.refusal(node);
  bool passes = reach.passes(node);
  if (!lost && passes)
    lost = lostGradientArgument(node);
  if (!lost && passes)
    lost = custom.refusalOfBlock(node);
  if (!lost && passes)
    lost = straightThrough.refusal(node, isTrained);
  if (lost && std::any_of(node.inputs.begin(), node.inputs.end(), isTrained))
    return lost;
  if (!passes || !dropped.readsInPlace(node, isTrained))
    return std::nullopt;
  lost = custom.refusalOfLine(node);
  return lost ? lost : dropped.refusal(node, isTrained, custom.trustsLineOf(node));
}

} // namespace accum::import
