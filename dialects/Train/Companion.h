// SPDX-License-Identifier: Apache-2.0
// A derivative's kernel that can also make again what the forward part made of the same operands.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include <optional>

namespace accum {

/// Where a plan repeats command `id` and nobody asks for its result before this command, which is backward,
/// this one runs another kernel that writes the result too.
struct Companion {
  int64_t id = -1;                      ///< a command of the forward part, or a tail, of one result
  mlir::FlatSymbolRefAttr kernel;       ///< results: the command's own, then that one
  llvm::SmallVector<int64_t> more = {}; ///< its arguments behind the command's: inputs of the forward command
  llvm::SmallVector<int64_t> mayAlias = {}; ///< inputs of the command whose place that result may take
  train::PolyAttr flops = {}, bytes = {};   ///< what it costs more
};

/// Kept as the discardable attribute `companion`; nothing where the command has none.
std::optional<Companion> companionOf(train::CommandOp command);
void setCompanion(train::CommandOp command, const Companion &companion);

} // namespace accum
