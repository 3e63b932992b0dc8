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

} // namespace accum::train
