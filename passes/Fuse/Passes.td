// SPDX-License-Identifier: Apache-2.0
// Passes of the phase `fuse`.
#ifndef ACCUM_FUSE_PASSES
#define ACCUM_FUSE_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeAttention : Pass<"accum-decompose-attention"> {
  let summary = "attention as matrix products and row kernels";
  let description = [{
    For targets whose runtime has no attention of its own. The weights of a row exist from the softmax to the product with
    the values, and again in the derivative, which computes them from queries, keys and the kept logarithm of the sum of
    exponentials; with masks under which that number may be too large to tell weights apart, by a second softmax.

    Requires: placed values. Ensures: the same values, and neither nn.attention nor nn.attention_bwd. Grouped heads
    become two axes; keys and values are not repeated.

    With `tiles` those stay which have a GPU kernel of our own (heads of 256 features at most).

    Before: `%y, %lse = nn.attention(%q, %k, %v) <infinite> causal {scale = 0.125 : f64}`.
    After: `%s = nn.contract "bhqd,bhkd->bhqk" (%q, %k)`, a softmax over the keys that are seen,
    `%y = nn.contract "bhqk,bhke->bhqe" (%p, %v)`.
  }];
  let options = [Option<"tiles", "tiles", "bool", /*default=*/"false", "leave what has a kernel of its own">];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def FoldTransposes : Pass<"accum-fold-transposes"> {
  let summary = "contractions read and write transposed values in place";
  let description = [{
    Requires: nothing. Ensures: no contraction reads a transpose, and no transpose reads a contraction without other
    users; letters are permuted instead. A transpose stays where a matrix product for the library would become none.

    Before: `%t = nn.transpose %q [0, 2, 1, 3]`, `nn.contract "bhsd,bhtd->bhst" (%t, %k)`.
    After: `nn.contract "bshd,bhtd->bhst" (%q, %k)`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def HoistReshapes : Pass<"accum-hoist-reshapes"> {
  let summary = "views come before elementwise ops instead of behind them";
  let description = [{
    A reshape between two elementwise ops keeps them out of one kernel. Where it leaves the last axis as it is, it is
    moved in front of the first one, onto its full-size operands; there it is a free view of what a library call wrote.

    Requires: nothing. Ensures: the same values.

    Before: `%s = nn.elementwise <add> (%x, %bias)`, `%r = nn.reshape %s : tensor<16x32xf32> -> tensor<1x16x32xf32>`.
    After: `%v = nn.reshape %x`, `%r = nn.elementwise <add> (%v, %bias)`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def JoinPads : Pass<"accum-join-pads"> {
  let summary = "sums of values that are padded with zeros beside each other are concatenations";
  let description = [{
    The cotangents of slices are padded and summed. Where they fill an axis without gaps and overlaps they are put side
    by side instead; a library call can then write each to its place.

    Requires: nothing. Ensures: the same values, but for the sign of zeros.

    Before: `%p = nn.pad %a with %zero low [0, 0]`, `%q = nn.pad %b with %zero low [0, 4]`,
    `%s = nn.elementwise <add> (%p, %q)`.
    After: `%s = nn.concat(%a, %b) {axis = 1}`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def SumFewTargets : Pass<"accum-sum-few-targets"> {
  let summary = "scattered sums into tables of a few rows are sums over columns";
  let description = [{
    On a GPU whoever owns a row of a table adds what belongs to it in order. A table of two rows (token types) has two
    owners, and all others wait for them. Where there are eight rows at most, each is a sum over all updates instead, of
    those that are its own.

    Requires: nothing. Ensures: the same values, but for the order of sums.

    Before: `%t = nn.scatter_add(%types, %dy) {axis = 0} -> tensor<2x768xf32>`.
    After: `%0 = nn.elementwise <eq> (%types, %zero)`, `%1 = nn.elementwise <select> (%0, %dy, %0.0)`,
    `%2 = nn.reduce <sum> (%1)`, the same for one, and `%t = nn.concat(%2, %4) {axis = 0}`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def RepeatDraws : Pass<"accum-repeat-draws", "::mlir::ModuleOp"> {
  let summary = "the backward pass draws random numbers again";
  let description = [{
    What is made of random numbers and constants alone takes no memory from the forward part to the backward part: the
    generator is keyed by what both know. Only what has one number for each sample is kept.

    Requires: steps with a forward and a backward part. Ensures: the same values; no value of more than one number a sample that
    is drawn in the forward part is read in the backward part.

    Before: `%u = nn.random <uniform> (%rng, ...)`, behind the loss `%dx = nn.elementwise <mul> (%dy, %u)`.
    After: `%v = nn.random <uniform> (%rng, ...)`, `%dx = nn.elementwise <mul> (%dy, %v)`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def RepeatElementwise : Pass<"accum-repeat-elementwise", "::mlir::ModuleOp"> {
  let summary = "the backward pass computes activations again from what is there anyway";
  let description = [{
    A gated unit's derivative needs the gate before and behind its activation. What is behind it follows from what is before
    it, in the kernel that reads it: it is neither written nor kept.

    Requires: steps with a forward and a backward part. Ensures: the same values. Elementwise results of the forward part whose
    readers in the backward part are row kernels are computed there once more, in chains of up to four ops, if all they are
    made of is read there by others, or is the same for all samples.

    Before: `%s = nn.elementwise <silu> (%gate)`, behind the loss `%du = nn.elementwise <mul> (%dy, %s)` and
    `%g = nn.elementwise <silu_grad> (%gate)`. After: `%t = nn.elementwise <silu> (%gate)`,
    `%du = nn.elementwise <mul> (%dy, %t)`.
  }];
  let dependentDialects = ["::accum::nn::NNDialect"];
}

def FormCommands : Pass<"accum-form-commands", "::mlir::ModuleOp"> {
  let summary = "groups the ops of a step into commands";
  let description = [{
    Each group becomes a `train.command` that names a kernel: a private func.func with the group's ops. Kernels with the
    same body are shared. Constants are part of the kernels that read them; reshapes stay outside as free views.

    Requires: `train.step`s with placed values.
    Ensures: phases hold commands, loads, stores, views and the yield only; every yielded value of a loop is an
    accumulating result of a command; ids are unique and ascending.

    A product whose sum with a parameter is the logits of a cross-entropy is written with that parameter, which else each pass over
    the logits adds. With `biases` every product is written with the parameter that is added to its rows, unless the sum only
    meets another sum.

    With `tiles` a column sum whose rows a row kernel writes or reads is cut in two: that kernel adds up tiles of
    consecutive rows, and the sum over the tiles is a command of its own.

    An attention takes the slices, transposes and reshapes around it along, as far as they are strides of its operands.

    With `mode=reference` one op is one command. With `mode=fused` chains of elementwise ops and row reductions over the
    same rows are one command.

    Before: `%y = nn.elementwise <exp> (%x)`. After: `%y = train.command @exp_16x32_f32(%x) {id = 7, ...}`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"fused\"", "reference or fused">,
    Option<"gemm", "gemm", "bool", "true", "matrix products by library calls">,
    Option<"biases", "biases", "bool", "false", "library calls add all biases to their products">,
    Option<"tiles", "tiles", "bool", "false", "row kernels add up tiles of rows for column sums">
  ];
  let dependentDialects = ["::accum::nn::NNDialect", "::accum::train::TrainDialect", "::mlir::func::FuncDialect"];
}

def GroupLoss : Pass<"accum-group-loss", "::mlir::ModuleOp"> {
  let summary = "the commands around a cross-entropy stand together, ready to run in slices of samples";
  let description = [{
    A cross-entropy over a vocabulary reads and writes values that are much larger than what its matrix products read and
    write: logits and their cotangents. Each of these commands treats sample by sample, or adds to an accumulator, so that
    all of them can run for a few samples at a time. They are put one behind the other and get `sliced`: the numbers of
    their results that are then held for one slice only; the first one gets `rows`, the rows of a sample, where slices may
    also be pieces of one. Whether it is done, and in which slices, is the plan's choice.

    Left alone: a loss whose cotangents depend on the loss, values whose samples do not lie one behind the other, commands
    that count samples (dropout).

    Requires: commands. Ensures: the same values; ids are unique and ascending.

    Before: `%z = @gemm(%x, %w)`, `%c = @scale(%n)`, `%l:2 = @cross_entropy(%z, %y)`, `%d = @cross_entropy_grad(%z, %y, %l#1, %c)`.
    After: `%c = @scale(%n)`, `%z = @gemm(%x, %w) {sliced = array<i64: 0>}`, `%l:2 = ... {sliced = array<i64>}`,
    `%d = ... {sliced = array<i64: 0>}`.
  }];
  let dependentDialects = ["::accum::train::TrainDialect"];
}

def SplitTails : Pass<"accum-split-tails", "::mlir::ModuleOp"> {
  let summary = "commands whose last result can be computed again from their other results";
  let description = [{
    A fused kernel often leaves a value and a cheap function of it, both kept for the backward part: a sum and its layer
    norm, an argument and its GELU. Recomputing the whole command would need what it reads. Such a command gets `tail`:
    the result, a kernel that computes it from the others, and a kernel for those (the head). It still runs as one; a plan
    may repeat the tail alone, from the kept results.

    Where a command of the forward part stores a result in fewer bits, its other ops read what is stored: only then can
    a tail compute the same, and the backward part, which has nothing else, agrees with the statistics of a norm.

    Requires: commands, in fused kernels. Ensures: the same commands; ids are unique and ascending, with one for each tail.

    Before: `%s, %g = @add_gelu(%x, %b) {id = 7}`.
    After: `%s, %g = @add_gelu(%x, %b) {id = 7, tail = #train.tail<id = 8, result = 1, kernel = @gelu, head = @add, ...>}`.
  }];
  let dependentDialects = ["::accum::train::TrainDialect", "::mlir::func::FuncDialect"];
}

def PadRows : Pass<"accum-pad-rows", "::mlir::ModuleOp"> {
  let summary = "rows of odd width begin on round addresses";
  let description = [{
    For GPUs, whose products and threads move 16 bytes at once where rows begin on multiples of that. A value that a
    matrix product reads or writes, with rows of no multiple of 16 bytes, lies with a pitch: rows begin on multiples of
    128 bytes, or of eight elements where that would cost more than a 16th of the memory; rows shorter than 64 elements,
    and those that would still cost more, stay one behind the other. Types do not change and nothing reads or writes what
    is between rows. The pitch stands on the kernels' arguments and results (`accum.pitch`), kernels that are told
    different things are different kernels.

    Left alone: values of the state, operands of attention, what is viewed in rows of another width, and products that
    would become others.

    Requires: commands. Ensures: a kernel's argument has the pitch of the result that it is.

    Before: `%z = @gemm(%x, %w)`, `%l:2 = @cross_entropy(%z, %y)`, where `%z` is of 1x1024x50257xbf16.
    After: the same commands, with `@gemm(...) -> (... {accum.pitch = 50304})` and
    `@cross_entropy(%0: ... {accum.pitch = 50304}, ...)`.
  }];
  let dependentDialects = ["::accum::train::TrainDialect", "::mlir::func::FuncDialect"];
}

#endif
