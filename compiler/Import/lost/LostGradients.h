// SPDX-License-Identifier: Apache-2.0
// Where the gradient of a node is not what the model's was, though its value is: everything that its metadata
// betrays, or its form.
#pragma once
#include "compiler/Import/lost/CustomBackward.h"
#include "compiler/Import/lost/DroppedValues.h"
#include "compiler/Import/lost/GradientReach.h"
#include "compiler/Import/lost/StraightThrough.h"

namespace accum::import {

class LostGradients {
public:
  /// Of gradients that start at `outputs`.
  LostGradients(const Graph &graph, const std::vector<std::string> &outputs,
                const std::vector<std::string> &trustedBackward)
      : reach(graph, outputs), dropped(graph), custom(graph, trustedBackward),
        straightThrough(graph, trustedBackward) {}

  /// `isTrained` tells which of the node's inputs depend on what is trained.
  std::optional<Refusal> refusal(const Node &node,
                                 const std::function<bool(const std::string &)> &isTrained) const;

private:
  GradientReach reach;
  DroppedValues dropped;
  CustomBackward custom;
  StraightThrough straightThrough;
};

} // namespace accum::import
