// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `schedule`.
#ifndef ACCUM_SCHEDULE_PASSES
#define ACCUM_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def RepeatCommands : Pass<"accum-repeat-commands", "::mlir::ModuleOp"> {
  let summary = "commands that the plan recomputes run a second time";
  let description = [{
    Each command in `recompute` of `train.plan` gets a clone (`clone_of`) right before the first command of the backward
    part that needs it; the backward part and the clones read the clones from then on. Where the clones stand is the
    planner's definition, their ids lie behind all others.

    Requires: commands, a plan. Ensures: every command of the plan's slots is there.

    Before (recompute = [4]): `%y = @gelu(%x) {id = 4}`, ..., `@gemm_tn(%y, %dy) {id = 9}`.
    After: `%y = @gelu(%x) {id = 4}`, ..., `%z = @gelu(%x) {clone_of = 4, id = 24}`, `@gemm_tn(%z, %dy) {id = 9}`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect"];
}

def LaunchAttention : Pass<"accum-launch-attention", "::mlir::ModuleOp"> {
  let summary = "attention is a kernel that is launched, not a call of the runtime's table";
  let description = [{
    For GPUs. Up to here an attention command asks a library, whose operands' types and views it keeps; from here it is a
    launch like any other, of the kernel that holds the attention.

    Requires: commands. Ensures: no command has `library = "attention"`.

    Before: `%y:2 = train.command @attention(%qkv) {library = "attention"}`. After: `%y:2 = train.command @attention(%qkv)`.
  }];
}

def ShardUpdate : Pass<"accum-shard-update", "::mlir::ModuleOp"> {
  let summary = "each rank updates its part of a sharded state";
  let description = [{
    Where the plan shards the state, the command that updates all parameters becomes one for each unit, on a rank's part of
    the rows; the rank is an operand, so that all ranks run one program. Where parameters are updated one by one, by
    commands of their own, these stand unit by unit.

    Requires: commands, a plan. Ensures: what the update loads and stores names a unit.

    Before: `%p:3 = @adamw(%hyper, %decay, %parameters, ...)` on tensor<100x64xf32>.
    After: `%r = train.load_rank`, `%p:3 = @update(%hyper, %decay, %r, %part, ...)` on tensor<26x64xf32>, for each unit.
  }];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect"];
}

def ShardCopies : Pass<"accum-shard-copies", "::mlir::ModuleOp"> {
  let summary = "each rank copies its part of a sharded state to bf16";
  let description = [{
    Where ranks have parts of the parameters, the commands that copy one parameter each, once, become one for each
    unit, of a rank's part; what reads the copies reads them in the state, where they are gathered.

    Requires: commands, a plan. Ensures: no copy of a parameter in its own layout is in scratch.

    Before: `%c = @round(%w)` in a phase that runs once, whose result a loop reads.
    After: `@copy_parameters(%part) {train.copies_unit = 2}`, `%c = train.load_slot "copy" {train.of = @w}`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect", "::mlir::func::FuncDialect"];
}

def BindMicroBatch : Pass<"accum-bind-micro-batch", "::mlir::ModuleOp"> {
  let summary = "slabs to the static types of the planned micro-batch";
  let description = [{
    Multiplies every axis that holds samples by m of `train.plan`, in steps and kernels, and drops the encodings. Starts of
    slices on such an axis count slab rows and are multiplied too. Kernels that nobody calls go; kernels that a command
    launches are numbered (`accum.kernel`). The steps' `inputs` gain `type`, the slab with its placement.

    Requires: commands, a plan. Ensures: plain static tensor types everywhere.

    Before (m = 6): `func.func private @k(%x: tensor<1x8xf32, #nn.batched<0>>)`.
    After: `func.func private @k(%x: tensor<6x8xf32>) attributes {accum.kernel = 0 : i64}`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect"];
}

def BuildProgram : Pass<"accum-build-program", "::mlir::ModuleOp"> {
  let summary = "steps and plan to the program that runs";
  let description = [{
    Replaces `train.step @step` and `@eval` by one `device.program`: phase by phase, after each loop the sums over
    devices of the scalars that it added up. The first iteration of a loop writes what later ones add to. For several
    devices the last iteration of the loop that adds to gradients begins the sums of those that are final; after it come
    the sums of all at once.

    Requires: `accum-bind-micro-batch`; a slot in the plan for every result that is neither accumulated nor stored.
    Ensures: a `device.program`; parameters, commands' locations and kernels stay.

    Before: `%y = train.command @ln(%x) {id = 17, ...}` with slot `"17:0" = 4096`.
    After: `%y = device.buffer scratch at 4096 : tensor<6x8xf32> "/ln"`, `device.launch 17 @ln[3](%x, %y)`.
  }];
  let dependentDialects = ["::accum::device::DeviceDialect", "::accum::train::TrainDialect"];
}

#endif
