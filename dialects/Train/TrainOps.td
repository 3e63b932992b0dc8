// SPDX-License-Identifier: Apache-2.0
// The train dialect's ops: parameters, steps with their regions, commands, reads and writes of state.
#ifndef ACCUM_TRAIN_OPS
#define ACCUM_TRAIN_OPS

include "dialects/Train/Train.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Train_Op<string mnemonic, list<Trait> traits = []> : Op<Train_Dialect, mnemonic, traits>;
def Train_Tensor : StaticShapeTensorOf<[AnyInteger, AnyFloat]>;

def Train_ParamOp : Train_Op<"param", [Symbol]> {
  let summary = "a parameter of the model (one per tied group), or a table of the file that is not trained";
  let description = [{
    The symbol is the ONNX initializer's name, `aliases` its copies in the file, `module` the framework's name where it
    could be recovered and differs; with `module_transposed` the framework has the transpose, `module_aliases` are its other
    names of the parameter; `module_added` is a number that the framework's has more. With `nameless` it is not what the framework has under any of these names, but made of that: rows of a
    table (`rows`). `detached` parameters have a gradient that the model holds back in part: it is no derivative of the loss. `file_type` is what the file has, where it is computed with in another type. Trained parameters have gradient accumulators and optimizer slots in the state.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Train_Tensor>:$type, Train_FileAttr:$source,
                       OptionalAttr<ArrayAttr>:$aliases, UnitAttr:$trained, OptionalAttr<StrAttr>:$module,
                       UnitAttr:$module_transposed, OptionalAttr<F64Attr>:$module_added,
                       OptionalAttr<StrArrayAttr>:$module_aliases, UnitAttr:$nameless, UnitAttr:$rows, UnitAttr:$detached,
                       OptionalAttr<TypeAttr>:$file_type);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$sym_name, "::mlir::Type":$type, "::accum::train::FileAttr":$source,
                                 CArg<"bool", "false">:$trained)>];
  let assemblyFormat = [{
    $sym_name `:` $type `from` $source (`trained` $trained^)? (`aliases` $aliases^)? (`module` $module^)? attr-dict
  }];
}

def Train_LoadParamOp : Train_Op<"load_param", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a parameter; the same throughout a step until update";
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Train_LoadSlotOp : Train_Op<"load_slot", [Pure]> {
  let summary = "`parameter`, `gradient` or an optimizer slot (`m`, `v`, `momentum`) of all trained parameters; only in update";
  let description = [{
    Rows of 256 bytes in the state's order. Each parameter begins a row; what it leaves of its last one is zero.
    With `{train.of = @w}`, as on load_decay and store too: that parameter's alone, in its own shape. With
    `{train.unit = 2}`: of the parameters of that unit of a sharded state, this rank's part of the rows, in a prologue
    too, which copies such parts; with `{train.piece = 1}` of that part the piece of this number. The micro region reads
    `copy` of one parameter.
  }];
  let arguments = (ins StrAttr:$slot);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$slot attr-dict `:` type($result)";
}

def Train_LoadRankOp : Train_Op<"load_rank", [Pure]> {
  let summary = "this process's rank, i64; only in update";
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Train_LoadNumberOp : Train_Op<"load_number", [Pure]> {
  let summary = "a number below 64, i64: the piece of a unit that is updated; only in update";
  let arguments = (ins I64Attr:$number);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$number attr-dict `:` type($result)";
}

def Train_LoadDecayOp : Train_Op<"load_decay", [Pure]> {
  let summary = "pairs (f64) of all trained parameters in this run: weight decay, factor of the learning rate; only in update";
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Train_StoreOp : Train_Op<"store"> {
  let summary = "overwrites all trained parameters (`parameter`), or one of their slots; only in update";
  let arguments = (ins Train_Tensor:$value, StrAttr:$slot);
  let assemblyFormat = "$value $slot attr-dict `:` type($value)";
}

def Train_UpdateOp : Train_Op<"update", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the optimizer's formula for one parameter; only in update";
  let description = [{
    `optimizer` is a row of runtime/artifact/Optimizers.cpp. Reads and overwrites the parameter and its slots. `hyper`
    holds accum_program.h's accum_hyper values; weight decay and the factor of the learning rate are the parameter's own.
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Train_Tensor:$gradient, Train_Tensor:$hyper, StrAttr:$optimizer);
  let assemblyFormat = "$optimizer $param `,` $gradient `,` $hyper attr-dict `:` type($gradient) `,` type($hyper)";
}

def Train_StepOp : Train_Op<"step", [Symbol, IsolatedFromAbove]> {
  let summary = "one optimizer step (`@step`), or forward and loss only (`@eval`, with an empty update)";
  let description = [{
    Regions run in this order; prepass, then and micro are loops over the micro-batches. Each has one block:

    | region | block arguments | yields |
    |---|---|---|
    | prepass | inputs | totals: partial, summed over micro-steps and devices |
    | then (any number, one behind the other) | inputs, totals so far (replicated now) | totals that need those, in the same way |
    | prologue | totals | replicated values that do not depend on the micro-batch, computed once |
    | micro | inputs, totals (replicated now), prologue values | partial values, added to the targets named by the yield |
    | update | hyper: tensor<8xf64> (accum_program.h: accum_hyper_slot), totals, gradients (replicated now, in the order of `gradients`) | nothing |

    Inputs are the model's, described by `inputs` (one dictionary each: name, bound, synthesize, made by import), then
    `valid: tensor<1xi1, #nn.batched<0>>`, `first_row: tensor<i64>`, `rng: tensor<3xi64>` (seed, step, samples before the call).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$inputs, ArrayAttr:$gradients);
  let regions = (region MaxSizedRegion<1>:$prepass, MaxSizedRegion<1>:$prologue, MaxSizedRegion<1>:$micro,
                        MaxSizedRegion<1>:$update, VariadicRegion<MaxSizedRegion<1>>:$then);
  let assemblyFormat = [{
    $sym_name `inputs` $inputs `gradients` $gradients `prepass` $prepass (`then` $then^)? `prologue` $prologue
    `micro` $micro `update` $update attr-dict
  }];
  let extraClassDeclaration = [{
    /// `prepass` and those behind it.
    ::llvm::SmallVector<::mlir::Region *> getPrepasses();
    /// All regions in the order in which they run.
    ::llvm::SmallVector<::mlir::Region *> getRegionsInOrder();
    /// What the pre-passes yield and where it is added up, in the order of the arguments for totals.
    ::llvm::SmallVector<::mlir::Value> getTotals();
    ::llvm::SmallVector<::mlir::Attribute> getTotalTargets();
  }];
  let hasRegionVerifier = 1;
}

def Train_YieldOp : Train_Op<"yield", [Terminator, HasParent<"StepOp">]> {
  let summary = "end of a region of a step";
  let description = [{
    In micro, `targets` names where each value is added: a string is a named scalar of the state (`"loss"`), a symbol is
    the gradient of that parameter; the same target may stand several times. The first micro-step writes, later ones add.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$values, DefaultValuedAttr<ArrayAttr, "{}">:$targets);
  let assemblyFormat = "($values^ `:` type($values))? (`to` $targets^)? attr-dict";
  let hasVerifier = 1;
}

def Train_CommandOp : Train_Op<"command", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one kernel or one library call";
  let description = [{
    `@kernel` is a func.func whose body is nn on slab types (plain static types after schedule); commands with the same
    symbol run the same code. `library` (`gemm`, `attention`) asks for a library call that computes the kernel's body. Result i is
    added to its yield target in place where `accumulate` contains i, instead of being a buffer of its own. `may_alias` lists
    pairs (result, operand) that may share memory. Costs are per micro-step.

    Of a group that may run in slices of the micro-batch, so that logits are never whole: `sliced` lists the results that
    are held in slices, `rows` are those of a sample that its first command may be cut into; `slice` is what the plan
    chose. `tail`: the part that can run again by itself. Of a repetition: `clone_of`, and `numbers` where it makes only
    those results of its original. `adds_unit` (update): it adds a device's part of a unit's gradients, which a micro-step
    has scattered, to what the device keeps of them; `copies_unit` (prologue): it casts a device's part of a unit to its
    part of the copy.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Train_Tensor>:$inputs, I64Attr:$id,
                       OptionalAttr<StrAttr>:$library, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$accumulate,
                       Train_PolyAttr:$flops, Train_PolyAttr:$bytes,
                       DefaultValuedAttr<ArrayAttr, "{}">:$may_alias,
                       OptionalAttr<ArrayAttr>:$variants, OptionalAttr<I64Attr>:$clone_of,
                       OptionalAttr<DenseI64ArrayAttr>:$numbers, OptionalAttr<Train_TailAttr>:$tail,
                       OptionalAttr<DenseI64ArrayAttr>:$sliced, OptionalAttr<I64Attr>:$rows,
                       OptionalAttr<Train_SliceAttr>:$slice, OptionalAttr<I64Attr>:$adds_unit,
                       OptionalAttr<I64Attr>:$copies_unit);
  let results = (outs Variadic<Train_Tensor>:$results);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::ValueRange":$inputs,
                                 "int64_t":$id, "::accum::train::PolyAttr":$flops, "::accum::train::PolyAttr":$bytes)>];
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

#endif
