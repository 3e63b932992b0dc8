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

def NarrowFloats : Pass<"accum-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "stores activations in bf16 and multiplies in it";
  let description = [{
    For `--precision bf16`. What commands hand to each other is stored in bf16 where it is an activation or its
    cotangent; kernels widen it when they read it, compute as before and round once, when they write. Products and
    attention read bf16. Weights that products read get a rounded copy in a phase that runs once; frozen ones are
    bf16 themselves. With `wide-weights` a trained weight that is B of a product has no copy: the product rounds it as
    it reads it.

    f32 stay: trained parameters and their gradients, sums over samples, scattered and running sums, statistics of
    rows, values that every sample shares, what is made from integers and constants only, and what may hold numbers
    beyond bf16's.

    Requires: steps of commands (accum-form-commands) on f32. Ensures: the types of kernels are those of their
    commands; ids are unique and ascending.

    Before: `%y = train.command @gelu_16x32xf32(%x)`, `%z = train.command @contract_16x8xf32(%y, %w)`.
    After: `%y = train.command @gelu_16x32xbf16(%x)`, `%z = train.command @contract_16x8xbf16(%y, %copy)`.
  }];
  let options = [
    Option<"wideWeights", "wide-weights", "bool", "false", "products round trained weights as they read them">];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect", "::mlir::func::FuncDialect"];
}

#endif
