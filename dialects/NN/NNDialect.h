// SPDX-License-Identifier: Apache-2.0
// The nn dialect: its attributes (placements) and ops. See NNBase.td for what the encodings mean.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NN/PlacementOpInterface.h"

#include "dialects/NN/NNDialect.h.inc"
#include "dialects/NN/NNEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/NN/NNAccumulation.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNAttention.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNContraction.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNElementwise.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNGather.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNLoss.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNNorm.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNReduction.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNShape.h.inc"

namespace accum::nn {

/// The slab of a value: its type without an encoding.
mlir::RankedTensorType slabOf(mlir::Type type);

/// `type` with `encoding` instead of its own (null: none).
mlir::RankedTensorType withEncoding(mlir::Type type, mlir::Attribute encoding);

/// Same shape and element type, encodings aside: what an op's verifier asks of its results. Placements are
/// verified by the phases that promise them.
bool sameSlabs(mlir::TypeRange a, mlir::TypeRange b);

/// What the verifier of an op says whose result has its operand's slab; success where it has.
mlir::LogicalResult verifySameSlab(mlir::Operation *op, mlir::Value operand);

/// Shape of operands that are broadcast against each other, aligned right; failure where extents differ and
/// none is 1.
mlir::FailureOr<llvm::SmallVector<int64_t>> broadcastShapes(mlir::TypeRange types);

namespace detail {
void addAccumulationOps(mlir::Dialect *dialect);
void addAttentionOps(mlir::Dialect *dialect);
void addContractionOps(mlir::Dialect *dialect);
void addElementwiseOps(mlir::Dialect *dialect);
void addGatherOps(mlir::Dialect *dialect);
void addLossOps(mlir::Dialect *dialect);
void addNormOps(mlir::Dialect *dialect);
void addRandomOps(mlir::Dialect *dialect);
void addReductionOps(mlir::Dialect *dialect);
void addShapeOps(mlir::Dialect *dialect);
} // namespace detail

} // namespace accum::nn
