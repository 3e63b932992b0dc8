// SPDX-License-Identifier: Apache-2.0
// Passes that compare several sizes of one dimension.
#ifndef ACCUM_LENGTHS_PASSES
#define ACCUM_LENGTHS_PASSES

include "mlir/Pass/PassBase.td"

def CheckPadding : Pass<"accum-check-padding", "::mlir::ModuleOp"> {
  let summary = "prove that padding at the end does not reach the loss";
  let description = [{
    Compares the modules in the module: one model, checked, at ascending sizes of a dimension. A sample that fits the
    smaller size has the same loss at both, whatever is after its end: proved value by value, or an error at the node
    that reads what is after the end. A remark for each axis of an input says what the proof takes to be there.

    Requires: at least two modules that hold what `check` ensures.
    Ensures: changes nothing.

    ```mlir
    module {
      module @a { func.func @forward(%x: tensor<1x16xf32, #nn.batched<0>>, ...) ... }
      module @b { func.func @forward(%x: tensor<1x32xf32, #nn.batched<0>>, ...) ... }
    }
    ```
  }];
  let options = [Option<"dimension", "dimension", "std::string", "\"sequence\"", "what messages call it">];
}

#endif
