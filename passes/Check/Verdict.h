// SPDX-License-Identifier: Apache-2.0
// What `check` found, for the summary lines and the JSON of the driver.
#pragma once

#include "dialects/NN/Refusal.h"
#include <string>
#include <vector>

namespace accum {

/// A root cause: one node for which the batch cannot be cut.
struct Cause {
  nn::Refusal::Kind kind;
  /// Name and type of the ONNX node; empty and the nn op's name where the graph was not imported.
  std::string node, opType;
  /// As in Refusal: "takes the softmax over the batch axis 0 of [N, 8]".
  std::string sentence;
  std::string slug;
  /// Which nodes made the sums in question, and the way out.
  std::vector<std::string> notes;
};

/// A sum over the whole batch that the pre-pass computes, such as the count of targets.
struct Normaliser {
  std::string node, opType;
  /// Whether it is just the number of samples.
  bool isBatchSize = false;
};

struct Verdict {
  std::vector<Cause> causes;
  std::vector<Normaliser> normalisers;
  /// Sums over the batch axis in the forward graph.
  unsigned reductions = 0;
  /// Terms of the loss that are the same for all samples, such as weight decay.
  unsigned shares = 0;
  /// Trained parameters that no differentiable path connects to the loss: a notice.
  std::vector<std::string> unreached;

  /// Outputs that cannot be predicted, and why: what follows `NAME: `.
  std::vector<std::pair<std::string, std::string>> outputsLeftOut;

  bool accepted() const { return causes.empty(); }
};

} // namespace accum
