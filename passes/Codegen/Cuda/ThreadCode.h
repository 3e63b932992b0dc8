// SPDX-License-Identifier: Apache-2.0
// What one thread of a GPU does, spelled as formulas: i32 for places, f32 for numbers.
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

namespace accum::codegen {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Values = llvm::SmallVector<mlir::Value>;

class ThreadCode {
public:
  using Value = mlir::Value;
  /// Gets the number of the round and what is carried from round to round; returns what is carried on.
  using Round = llvm::function_ref<Values(Value, mlir::ValueRange)>;

  ThreadCode(mlir::Location loc, mlir::Operation *end) : b(loc, end) {}

  mlir::ImplicitLocOpBuilder b;

  Value integer(int64_t value);
  Value real(double value);
  Value add(Value x, Value y);
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, integer(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, int64_t y) { return y == 1 ? x : mulInteger(x, integer(y)); }
  Value div(Value x, int64_t y);
  Value rem(Value x, int64_t y);
  Value least(Value x, int64_t y);
  Value least(Value x, Value y);
  Value below(Value x, Value y); ///< as signed numbers
  Value below(Value x, int64_t y) { return below(x, integer(y)); }
  Value differs(Value x, Value y);
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value select(Value condition, Value yes, Value no);

  Value times(Value x, Value y); ///< of f32
  Value plus(Value x, Value y);
  Value minus(Value x, Value y);
  Value fma(Value x, Value y, Value z); ///< f32 or vectors
  Value larger(Value x, Value y);       ///< of f32; the other one where one is NaN
  Value smaller(Value x, Value y);
  Value equal(Value x, double y);
  Value atMost(Value x, double y); ///< false for NaN
  Value exp(Value x);
  Value exp2(Value x); ///< by the instruction: within 2^-22, denormal results are 0
  Value log(Value x);
  Value splat(Value x); ///< four times
  Value part(Value vector, int64_t lane);
  Value zeros(); ///< four
  /// `word`: two bf16 as they lie in memory. Number `half` of them as f32.
  Value unpack(Value word, int64_t half);
  Value pack(Value low, Value high);   ///< two f32, rounded
  Value round(Value x);                ///< one, as i16
  Value roundToTf32(Value x);          ///< as i32: 10 bits of mantissa, ties away from zero
  Value pairOf(Value low, Value high); ///< two f32

  /// Element `index` (i32 or i64) behind `pointer`.
  Value at(Value pointer, Value index, mlir::Type element);
  Value load(mlir::Type type, Value address, int64_t alignment);
  void store(Value value, Value address, int64_t alignment);
  Value wide(Value x); ///< i32 as i64
  /// number * stride, as i64.
  Value stretched(Value number, int64_t stride);
  Value sum64(Value x, Value y);

  /// For i = from, from + step, ... below `to`.
  Values loop(Value from, Value to, int64_t step, mlir::ValueRange carried, Round round);
  Values loop(int64_t from, int64_t to, int64_t step, mlir::ValueRange carried, Round round) {
    return loop(integer(from), integer(to), step, carried, round);
  }
  void when(Value condition, llvm::function_ref<void()> then);
  /// What `then` gives, else `carried`.
  Values when(Value condition, mlir::ValueRange carried, llvm::function_ref<Values()> then);
  void choose(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);

  Value call(mlir::Type type, llvm::StringRef intrinsic, mlir::ValueRange arguments);

  /// Begins to copy 16 or 4 bytes of memory to shared memory; of them `present`, and zeros behind those.
  void startCopy(Value to, Value from, int64_t bytes, Value present);
  /// Of all copies that this thread began.
  void finishCopies();

  /// Combines `x` over eight lanes beside each other.
  Value overLanes(Value x, llvm::function_ref<Value(Value, Value)> combine) {
    return overLanes(x, {4, 2, 1}, combine);
  }
  /// Over lanes at the given distances, powers of two: 2^n lanes for n of them.
  Value overLanes(Value x, llvm::ArrayRef<int64_t> distances,
                  llvm::function_ref<Value(Value, Value)> combine);

private:
  Value mulInteger(Value x, Value y);
};

} // namespace accum::codegen
