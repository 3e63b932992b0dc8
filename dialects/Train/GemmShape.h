// SPDX-License-Identifier: Apache-2.0
// Which contractions are one matrix product for the library, and which one.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <array>
#include <optional>

namespace accum {

/// A prime so large that a stride equals another only where it does so for every micro-batch size.
inline constexpr int64_t kSomeMicroBatch = 1000003;

/// A value's shape where it has no batch placement; else its slab's shape with the batch axis multiplied by
/// kSomeMicroBatch.
llvm::SmallVector<int64_t> boundShape(mlir::Value value);

/// C[i,j] = sum_k A[i,k] * B[k,j] over row-major tensors, as accum_gemm of runtime/accum_program.h describes
/// it: element strides, one of (row, col) of A and of B is 1, C's column stride is 1. Transposes, and heads
/// in the middle of a row, are strides; nothing is copied.
struct Gemm {
  unsigned a = 0, b = 1; ///< which operand of the contraction is A, which is B
  int64_t m = 1, n = 1, k = 1;
  int64_t aRow = 1, aCol = 1, bRow = 1, bCol = 1, cRow = 1;
  /// Extents, and strides in A, B and C (0: the same matrix again); at most four.
  llvm::SmallVector<int64_t, 4> batch, aBatch, bBatch, cBatch;
};

/// The letters sorted into M, N, K and batch; nothing where a group has no single stride, no matrix order has
/// unit strides, more than four batch dimensions remain, or the element type is not f32, f64 or bf16.
///
/// On types without batch placements the result holds for them. On slabs (`#nn.batched`) it is that of a
/// micro-batch of kSomeMicroBatch, and there is one for every size if there is one for this. Rows lie as the
/// kernel says that the contraction stands in (RowPitch.h).
std::optional<Gemm> analyseGemm(nn::ContractOp contract);

/// Elements from row to row of the left operand, the right one and the result; 0: one behind the other.
using GemmPitches = std::array<int64_t, 3>;

/// The same for rows that lie so.
std::optional<Gemm> analyseGemm(nn::ContractOp contract, GemmPitches pitches);

/// A kernel that is one product, to whose rows a bias may be added.
struct GemmCall {
  Gemm gemm;
  std::array<unsigned, 2> operands; ///< arguments of the kernel: those of the contraction
  std::optional<unsigned> bias;     ///< another one: a value for each column, added to all rows
};

/// Nothing where the body is not a contraction that is one matrix product, or that, seen in a shape with the
/// same last axis, plus a bias.
std::optional<GemmCall> analyseGemmKernel(mlir::func::FuncOp kernel);

/// The bias in `sum`, where it is added to every row of the product `contract` and nothing else is done, so
/// that a library can add it while it writes; null otherwise. A view may be between the two.
mlir::Value biasOf(nn::ContractOp contract, nn::ElementwiseOp sum);

} // namespace accum
