// SPDX-License-Identifier: Apache-2.0
// Passes and pipeline of the phase `codegen`.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace accum {

#define GEN_PASS_DECL
#include "passes/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Codegen/Passes.h.inc"

/// From kernels on tensors to the llvm dialect. `lanes` is the machine's number of f32 in a vector; 1 gives
/// the reference: scalar code and libm.
void buildCodegenPipeline(mlir::OpPassManager &manager, int64_t lanes);

/// The same for a GPU: to the llvm dialect with NVPTX's intrinsics.
void buildCudaCodegenPipeline(mlir::OpPassManager &manager);

} // namespace accum
