// SPDX-License-Identifier: Apache-2.0
// Groups that only one other group reads, and that move or compute little, become part of it.
#pragma once

#include "passes/Fuse/Groups.h"

namespace accum {

/// Rotary embeddings are slices, signs and a concatenation around a product, between two transposes: one
/// kernel that reads its operand at other places. `groups` are in an order that respects their dependences,
/// and stay so; `leaders` are ops whose groups are settled.
void joinParts(mlir::Block &block, const mlir::DenseMap<mlir::Operation *, mlir::Operation *> &leaders,
               std::vector<Group> &groups);

} // namespace accum
