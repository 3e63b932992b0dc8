// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `check`.
#ifndef ACCUM_CHECK_PASSES
#define ACCUM_CHECK_PASSES

include "mlir/Pass/PassBase.td"

def CheckPlacement : Pass<"accum-check-placement", "::mlir::ModuleOp"> {
  let summary = "prove that the batch can be cut";
  let description = [{
    Gives every value of `func.func @forward` a placement: batched, replicated or partial. All root causes are reported
    where that is impossible, at their ONNX nodes; what follows from them is not.

    - `valid` and `first_row` become arguments; `nn.batch_size` becomes the total of the valid rows.
    - A sum over the samples that does not depend on parameters and is used where only a replicated value fits, such
      as the count in a mean, becomes `nn.total`: a pre-pass of the step computes it.
    - A value that is the same for all samples and is added to a sum over them becomes `nn.share`.
    - Every sum over the batch axis reads `nn.mask_rows`: spare rows of a ragged micro-step do not count.
    - `nn.dropout` and `nn.random` learn which axis holds the samples.

    Requires: what `import` ensures.
    Ensures: a placement on every value; the result is a scalar partial, the loss; nothing dead.

    Before:
    ```mlir
    func.func @forward(%x: tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32> {
      %n = nn.batch_size : tensor<i64>
      %s = nn.reduce <sum> (%x) {axes = array<i64: 0, 1>} : (tensor<1x4xf32, #nn.extent<0>>) -> tensor<f32>
      ...
    ```
    After:
    ```mlir
    func.func @forward(%x: tensor<1x4xf32, #nn.batched<0>>, %valid: ..., %first_row: ...) -> tensor<f32, #nn.partial<sum>> {
      %ones = nn.cast %valid : ...
      %count = nn.reduce <sum> (%ones) {axes = array<i64: 0>} : ... -> tensor<i64, #nn.partial<sum>>
      %n = nn.total %count : tensor<i64, #nn.partial<sum>> -> tensor<i64, #nn.replicated>
      %m = nn.mask_rows(%x, %valid) {dim = 0 : i64} : ...
      %s = nn.reduce <sum> (%m) {axes = array<i64: 0, 1>} : ... -> tensor<f32, #nn.partial<sum>>
      ...
    ```
  }];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect"];
}

def VerifyPlacement : Pass<"accum-verify-placement", "::mlir::ModuleOp"> {
  let summary = "infer every placement again and compare";
  let description = [{
    For every nn op of the module: the placements of its results are those that its rule gives for its operands'. For
    every `train.phase`: what leaves a loop is partial, what leaves another phase replicated.

    Requires: placements on every value, that is any phase from `check` to `plan`.
    Ensures: changes nothing. A difference is a bug of the phase before, reported at the op without a slug.
  }];
}

#endif
