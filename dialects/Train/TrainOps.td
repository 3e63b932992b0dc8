// SPDX-License-Identifier: Apache-2.0
// The train dialect's ops: parameters, steps and their phases, commands, reads and writes of state.
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
    `{train.unit = 2}`: of the parameters of that unit of a sharded state, this rank's part of the rows, in a phase
    too that copies such parts; with `{train.piece = 1}` of that part the piece of this number. A loop reads `copy`
    of one parameter.
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

def Train_OutputOp : Train_Op<"output", [HasParent<"PhaseOp">]> {
  let summary = "hands rows of the model's output of this name to the run: those of the micro-step; only in a loop of `@predict`";
  let arguments = (ins Train_Tensor:$value, StrAttr:$name);
  let assemblyFormat = "$value $name attr-dict `:` type($value)";
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

def Train_StepOp : Train_Op<"step", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "one optimizer step (`@step`), forward and loss only (`@eval`), or outputs of the model (`@predict`): phases, in the order in which they run";
  let description = [{
    The block's arguments are the model's inputs, described by `inputs` (one dictionary each: name, bound, synthesize,
    made by import), then `valid: tensor<1xi1, #nn.batched<0>>`, `first_row: tensor<i64>`, `rng: tensor<3xi64>` (seed,
    step, samples before the call), and in a step that updates `hyper: tensor<8xf64>` (accum_program.h: accum_hyper_slot). Nobody but the pass
    that makes the list of phases knows how many there are: others ask a phase what it is.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `inputs` $inputs attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::llvm::SmallVector<::accum::train::PhaseOp> getPhases();
    /// The loop that adds to gradients; of a step without gradients the last one, which adds up the loss. Null
    /// where there is no loop.
    ::accum::train::PhaseOp getMainLoop();
    /// The phase that stores parameters; null where none does.
    ::accum::train::PhaseOp getUpdate();
    /// The parameters whose gradients the main loop adds up, in the order of their first terms.
    ::mlir::ArrayAttr getGradients();
  }];
  let hasRegionVerifier = 1;
}

def Train_PhaseOp : Train_Op<"phase", [IsolatedFromAbove, SingleBlock, HasParent<"StepOp">]> {
  let summary = "a part of a step: a loop over the micro-batches, or what is computed once";
  let description = [{
    ```mlir
    %count = train.phase "count" loop(%valid: tensor<1xi1, #nn.batched<0>> = %in) -> tensor<i64, #nn.replicated> {
      %0 = nn.reduce ...
      train.yield %0 : tensor<i64, #nn.partial<sum>> to ["targets"]
    }
    %weight = train.phase "prologue" once(%n: tensor<i64, #nn.replicated> = %count) -> tensor<f32, #nn.replicated> {
      ...
    }
    ```

    Each argument of the body is what one operand brings: an input of the step, or a result of an earlier phase. A loop
    has one result for each accumulator, which are the different targets of its yield in the order of their first terms:
    the sum over micro-steps and devices, replicated. `once` has as results what it yields, and reads no input but `rng`
    and `hyper`. `title` is what the program's listing calls the phase, where its name does not say enough.
  }];
  let arguments = (ins StrAttr:$name, UnitAttr:$loop, OptionalAttr<StrAttr>:$title, Variadic<Train_Tensor>:$captures);
  let results = (outs Variadic<Train_Tensor>:$totals);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "bool":$loop, CArg<"::llvm::StringRef", "{}">:$title)>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ::accum::train::YieldOp getYield();
    /// What the program's listing calls it.
    ::llvm::StringRef getHeading() { return getTitle().value_or(getName()); }
    /// Of a loop, what each result is the sum of.
    ::llvm::SmallVector<::mlir::Attribute> getAccumulators();
    bool addsGradients();
    /// Whether it stores parameters or what the optimizer keeps of them.
    bool updates();
    /// What an argument of the body brings.
    ::mlir::Value sourceOf(::mlir::BlockArgument argument) { return getCaptures()[argument.getArgNumber()]; }
    /// The argument that brings `value`, a new one where there is none.
    ::mlir::BlockArgument capture(::mlir::Value value, ::mlir::Location location);
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Train_YieldOp : Train_Op<"yield", [Terminator, HasParent<"PhaseOp">]> {
  let summary = "end of a phase";
  let description = [{
    In a loop, `targets` names where each value is added: a string is a named scalar of the state (`"loss"`), a symbol is
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
    those results of its original. `adds_unit` (where parameters are updated): it adds a device's part of a unit's gradients, which a micro-step
    has scattered, to what the device keeps of them; `copies_unit` (once, before that): it casts a device's part of a unit to its
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
