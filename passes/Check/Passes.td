// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `check`.
#ifndef ACCUM_CHECK_PASSES
#define ACCUM_CHECK_PASSES

include "mlir/Pass/PassBase.td"

def VerifyPlacement : Pass<"accum-verify-placement", "::mlir::ModuleOp"> {
  let summary = "infer every placement again and compare";
  let description = [{
    For every nn op of the module: the placements of its results are those that its rule gives for its operands'. For
    every `train.step`: what leaves the pre-pass and the micro-step is partial, what leaves the prologue replicated.

    Requires: placements on every value, that is any phase from `check` to `plan`.
    Ensures: changes nothing. A difference is a bug of the phase before, reported at the op without a slug.
  }];
}

#endif
