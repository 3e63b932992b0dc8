// SPDX-License-Identifier: Apache-2.0
// The four ways in which threads of a block share work, and how each adds up what its threads have.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Codegen/Team.h"
#include <memory>

namespace accum::codegen {

constexpr int64_t kWarp = 32; ///< threads

/// A thread's place, known at the kernel's entry.
struct ThreadPlace {
  mlir::Value thread;              ///< i64, in the block
  int64_t blockThreads = kWarp;    ///< a multiple of a warp
  mlir::LLVM::LLVMFuncOp function; ///< the kernel; its shared memory is a global beside it
};

/// `value` (of 64 bits at most) of the lane whose number differs in the bits of `distance`.
mlir::Value exchange(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, int64_t distance);
/// All threads of the block meet; what one wrote to shared memory before, others may read behind it.
void barrier(mlir::ImplicitLocOpBuilder &builder);

/// Every thread alone.
std::unique_ptr<Team> makeThreadTeam(mlir::ImplicitLocOpBuilder &builder);
/// By shuffles: five exchanges with ever nearer lanes, the same bits in every lane.
std::unique_ptr<Team> makeWarpTeam(mlir::ImplicitLocOpBuilder &builder, const ThreadPlace &place);
/// Warps by shuffles, then their sums in order through shared memory.
std::unique_ptr<Team> makeBlockTeam(mlir::ImplicitLocOpBuilder &builder, const ThreadPlace &place);
/// `side` threads beside each other own an item each, of `lanes` numbers; those behind each other add up
/// pairwise through shared memory. The leader is set by whoever knows how many items there are.
std::unique_ptr<Team> makeColumnTeam(mlir::ImplicitLocOpBuilder &builder, const ThreadPlace &place,
                                     int64_t side, int64_t lanes);

} // namespace accum::codegen
