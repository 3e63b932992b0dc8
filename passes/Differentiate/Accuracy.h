// SPDX-License-Identifier: Apache-2.0
// How many targets of an evaluation are predicted.
#pragma once

#include "passes/Differentiate/StepBuilder.h"

namespace accum {

/// Adds to the main loop of @eval what the yields `correct` and `counted` add up (i64): targets whose
/// largest logit is their label's, and targets at all, by the one cross-entropy that the loss is made of.
/// Emits `no-metric` where there is none, or several, or where its rows are weighted.
mlir::LogicalResult countCorrect(const ForwardGraph &graph, StepBuilder &eval);

} // namespace accum
