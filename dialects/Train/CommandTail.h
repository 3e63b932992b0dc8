// SPDX-License-Identifier: Apache-2.0
// A command in two: the head, and a tail that computes one result from the head's results.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include <optional>

namespace accum {

/// The command runs as one kernel the first time; where a plan recomputes only its tail, or only its head,
/// that part runs alone. In a problem the tail is a command of its own, right behind.
struct CommandTail {
  int64_t id = -1;                          ///< of the tail as a command
  int64_t result = 0;                       ///< of the whole command: the one that the tail computes
  mlir::FlatSymbolRefAttr kernel, head;     ///< kernels of the tail and of the head
  llvm::SmallVector<int64_t> operands = {}; ///< of the tail: operands of the command, `~i` for its result i
  llvm::SmallVector<int64_t> headOperands = {};
  train::PolyAttr flops = {}, bytes = {}; ///< of the tail, alone
};

/// The last command of the micro-step's forward part: one that what becomes the loss is made from, or that
/// adds to the loss before the first gradient. Null where there is none.
mlir::Operation *lastForwardCommand(train::StepOp step);

/// The attribute `tail` in a form that passes change; nothing where the command has none.
std::optional<CommandTail> tailOf(train::CommandOp command);
void setTail(train::CommandOp command, const CommandTail &tail);

/// What is added to the id of a command or tail for its repetition: one more than all of them.
int64_t repetitionIds(mlir::ModuleOp module);

/// Ids of commands and tails, ascending in the order in which they run.
void numberCommands(mlir::ModuleOp module);

} // namespace accum
