// SPDX-License-Identifier: Apache-2.0
// The train dialect: parameters, steps, commands and plans.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Train/TrainDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Train/TrainAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Train/TrainOps.h.inc"

namespace accum::train {

/// What `--precision` asked for, recorded on the module by the driver; `f32` where it records nothing.
llvm::StringRef precisionOf(mlir::Operation *module);
void recordPrecision(mlir::Operation *module, llvm::StringRef precision);

/// Where the graph relates samples and is compiled all the same: the global batch, which one device computes
/// in one micro-step and which is part of every shape; nothing where the batch is cut. Recorded by the
/// driver.
std::optional<int64_t> wholeBatchOf(mlir::Operation *module);
void recordWholeBatch(mlir::Operation *module, int64_t batch);
/// The attribute of an argument of @forward that says which of its axes is then the batch.
inline constexpr llvm::StringLiteral kBatchAxis = "train.batch_axis";
/// The same in the description of a step's input.
inline constexpr llvm::StringLiteral kInputBatchAxis = "batch_axis";

/// On a module of several lengths: names of the dimensions that have several sizes.
inline constexpr llvm::StringLiteral kLengthDims = "accum.length_dims";

} // namespace accum::train
