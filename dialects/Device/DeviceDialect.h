// SPDX-License-Identifier: Apache-2.0
// The device dialect: the program that an artifact runs.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Device/DeviceDialect.h.inc"
#include "dialects/Device/DeviceEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Device/DeviceTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Device/DeviceOps.h.inc"

namespace accum::device {

/// Offsets are multiples of these; kernels and libraries may count on it.
inline constexpr int64_t kStateAlignment = 256;
inline constexpr int64_t kScratchAlignment = 64;

/// The op that made a buffer.
BufferOp definition(mlir::Value buffer);

/// Bytes of a tensor in row-major order; an i1 takes one byte. `pitch`: elements from row to row, 0 where
/// they lie one behind the other.
int64_t bytesOf(mlir::RankedTensorType tensor, int64_t pitch = 0);

} // namespace accum::device
