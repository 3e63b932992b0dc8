// SPDX-License-Identifier: Apache-2.0
// All dialects that a module of ours may hold.
#include "dialects/Registration.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

void accum::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<nn::NNDialect, train::TrainDialect, device::DeviceDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect>();
}
