// SPDX-License-Identifier: Apache-2.0
// Arguments of the model's calls that ONNX's operators have not, and that exporters leave out without a word.
#pragma once
#include "compiler/Import/model/Model.h"
#include "compiler/Import/walk/Refusal.h"
#include <optional>

namespace accum::import {

/// The node computes another value than the model did.
std::optional<Refusal> lostArgument(const Node &node);
/// It computes the model's value, and its gradient is another one.
std::optional<Refusal> lostGradientArgument(const Node &node);
/// `label_smoothing` of the cross-entropy that a SoftmaxCrossEntropyLoss was translated from: its value is
/// without it. 0: none.
double labelSmoothing(const Node &node);

} // namespace accum::import
