// SPDX-License-Identifier: Apache-2.0
// Sizes of the pieces into which a node splits an axis.
#pragma once
#include "compiler/Import/walk/Binder.h"

namespace accum::import {

/// What input 1 says, a list or one number; along the batch axis in units of the batch size. Refuses other
/// pieces of the batch.
llvm::SmallVector<int64_t> givenSizes(Binder &node, const Extent &axis);

} // namespace accum::import
