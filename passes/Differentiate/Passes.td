// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `differentiate`.
#ifndef ACCUM_DIFFERENTIATE_PASSES
#define ACCUM_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"accum-differentiate", "::mlir::ModuleOp"> {
  let summary = "forward graph to optimizer step";
  let description = [{
    Replaces `func.func @forward` by `train.step @step` (loops of totals, what is computed once from those, the loop
    with loss and backward, the update)
    and `train.step @eval` (without dropout, backward and update).

    Requires: placements on every value; the result is a scalar partial, the loss.
    Ensures: placements on every value; every value that leaves a micro-step is partial; nothing dead; the cotangents
    of a value are summed as a balanced tree; values that depend on parameters only are computed once.

    Before:
    ```mlir
    train.param @w : tensor<8x4xf32> from #train.file<"m.onnx", 0, 128, 0> trained
    func.func @forward(%x: tensor<1x8xf32, #nn.batched<0>>, ...) -> tensor<f32, #nn.partial<sum>> {
      %w = train.load_param @w : tensor<8x4xf32, #nn.replicated>
      %y = nn.contract "bk,kn->bn" (%x, %w) : ...
      %l = nn.reduce <sum> (%y) {axes = array<i64: 0, 1>} : ...
      return %l
    }
    ```
    After, in the main loop of @step:
    ```mlir
      %dw = nn.contract "bn,bk->kn" (%dy, %x) : ... -> tensor<8x4xf32, #nn.partial<sum>>
      train.yield %loss, %dw : ... to ["loss", @w]
    ```
  }];
  let options = [Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
                        "a row of runtime/artifact/Optimizers.cpp">,
                 Option<"accuracy", "accuracy", "bool", "false",
                        "@eval counts the targets that are predicted, as `correct` of `counted`">,
                 Option<"tileRows", "tile-rows", "int64_t", "256",
                        "of pairs of samples, where a batch that is split has at least two tiles">,
                 Option<"keepForward", "keep-forward", "bool", "false",
                        "the first micro-step of a batch that is split has no second forward pass">];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect"];
}

#endif
