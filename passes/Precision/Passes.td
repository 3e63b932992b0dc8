// SPDX-License-Identifier: Apache-2.0
// Passes that decide which element types are computed in.
#ifndef ACCUM_PRECISION_PASSES
#define ACCUM_PRECISION_PASSES

include "mlir/Pass/PassBase.td"

def WidenFloats : Pass<"accum-widen-floats", "::mlir::ModuleOp"> {
  let summary = "computes in f64 what the model computes in f32";
  let description = [{
    For `--precision f64`, where a bug differs from noise. Every f32 value, parameter and constant becomes f64; the
    runtime converts parameters when it loads them.

    Requires: a module after import. Ensures: no f32 is left.

    Before: `nn.elementwise <exp> (%x) : (tensor<4xf32>) -> tensor<4xf32>`.
    After: `nn.elementwise <exp> (%x) : (tensor<4xf64>) -> tensor<4xf64>`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

#endif
