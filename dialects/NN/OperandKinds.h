// SPDX-License-Identifier: Apache-2.0
// Which element types a function of nn.elementwise takes; who builds one asks before the verifier does.
#pragma once
#include "dialects/NN/NNDialect.h"

namespace accum::nn {

/// Functions that are none of integers, or of no use there.
bool needsFloats(ElementwiseFn fn);
/// Functions of truth values.
bool needsBools(ElementwiseFn fn);

} // namespace accum::nn
