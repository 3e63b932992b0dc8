// SPDX-License-Identifier: Apache-2.0
// Values that pass no gradient back.
#pragma once
#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// On `select(condition, x, y)`, a unit attribute: x gets no cotangent from it. `y` is x again, where only
/// the elements under the condition are detached, or a zero under a condition that is true: so detached, the
/// value is x in both cases, and differentiation leaves x in the select's place.
inline constexpr llvm::StringLiteral detachedAttr = "nn.detached";

inline bool isDetached(ElementwiseOp op) { return op->hasAttr(detachedAttr); }

} // namespace accum::nn
