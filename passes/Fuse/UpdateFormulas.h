// SPDX-License-Identifier: Apache-2.0
// The optimizers' formulas on tensors of nn.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/artifact/Optimizers.h"

namespace accum {

/// Elementwise maths on replicated tensors; hyper-parameters are combined in f64 and rounded once, as the
/// frameworks do.
class UpdateMath {
public:
  /// `hyper`: tensor<8xf64>, entries of accum_hyper_slot. `element`: of parameters.
  UpdateMath(const mlir::ImplicitLocOpBuilder &builder, mlir::Type element, mlir::Value hyper)
      : b(builder), element(element), hyper(hyper) {}

  mlir::Value map(nn::ElementwiseFn fn, mlir::ValueRange values);
  mlir::Value add(mlir::Value x, mlir::Value y) { return map(nn::ElementwiseFn::add, {x, y}); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return map(nn::ElementwiseFn::sub, {x, y}); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return map(nn::ElementwiseFn::mul, {x, y}); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return map(nn::ElementwiseFn::div, {x, y}); }

  /// tensor<f64>
  mlir::Value scalar(accum_hyper_slot index);
  mlir::Value one();
  /// tensor<i64>
  mlir::Value integer(int64_t value);
  /// An f64 in the parameters' element type.
  mlir::Value narrow(mlir::Value wide);
  /// `op`, whose result is the same for every sample.
  mlir::Value place(mlir::Operation *op);
  /// An EMA of the weights after an update that made `weights`: old + (weights - old) * (1 - d).
  mlir::Value average(mlir::Value old, mlir::Value weights);

  mlir::ImplicitLocOpBuilder b;

private:
  mlir::Type element;
  mlir::Value hyper;
};

/// What an update reads. `rate` and `decay` are f64 and broadcast against the others.
struct UpdateOperands {
  mlir::Value rate, decay, parameter, gradient;
  mlir::ValueRange slots; ///< in the order of the optimizer's row
};

/// The new parameter, then the new slots.
mlir::SmallVector<mlir::Value> updated(const runtime::OptimizerSpec &optimizer, UpdateMath &math,
                                       const UpdateOperands &operands);

} // namespace accum
