// SPDX-License-Identifier: Apache-2.0
// What measured times of a command are looked up by: the sizes of a library call, the operations of a kernel.
#pragma once

#include "compiler/Planner/Problem/Problem.h"
#include "dialects/Train/TrainDialect.h"

namespace accum {

/// Fills `call` of a GEMM or an attention, and `work` of a kernel. `kernel`: the command's, or that of its
/// tail.
void describeShape(train::CommandOp command, mlir::FlatSymbolRefAttr kernel,
                   mlir::SymbolTableCollection &symbols, planner::Variant &variant);

} // namespace accum
