// SPDX-License-Identifier: Apache-2.0
// The device dialect's ops.
#ifndef ACCUM_DEVICE_OPS
#define ACCUM_DEVICE_OPS

include "dialects/Device/Device.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Device_Op<string mnemonic, list<Trait> traits = []> : Op<Device_Dialect, mnemonic, traits>;
def Device_Tensor : TensorOf<[AnyType]>;

/// What works on buffers, which only a program has.
class Device_ProgramPart<string mnemonic, list<Trait> traits = []>
    : Device_Op<mnemonic, !listconcat([ParentOneOf<["ProgramOp", "ForMicroOp", "ForSlicesOp", "FirstMicroOp"]>], traits)>;

def Device_ProgramOp : Device_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator, NoRegionArguments,
                                             SingleBlock]> {
  let summary = "one optimizer step, and the evaluation of the loss, for one micro-batch size and device count";
  let description = [{
    Carries what the manifest needs beside the code: `inputs` (one dictionary each: name, type (the slab with its
    placement), bound, synthesize), `gradients` (symbols of the trained parameters), `scalars` (dictionaries: name,
    type), `optimizer`, and `shard` where the state is sharded (as in a plan). `phases`, of the step and then of the
    evaluation: dictionaries with name, `loop` where it is a loop over micro-batches, `gradients` where that one adds to
    gradients, `eval` for phases of the evaluation, `predict` for those of a prediction, which stand last. `outputs`, where
    the model has some to predict: dictionaries with name and type (the slab). `lengths`, where a dimension has several sizes: a dictionary for
    each, ascending, with `sizes`, `m`, `seconds` (predicted, of a micro-step); each loop then has a phase per length,
    whose `length` is a position in that list, and `m` is that of the last.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$m, I64Attr:$devices, I64Attr:$state_bytes,
                       I64Attr:$scratch_bytes, DefaultValuedAttr<ArrayAttr, "{}">:$inputs,
                       DefaultValuedAttr<ArrayAttr, "{}">:$gradients, DefaultValuedAttr<ArrayAttr, "{}">:$scalars,
                       DefaultValuedAttr<StrAttr, "\"\"">:$optimizer, OptionalAttr<DictionaryAttr>:$shard,
                       DefaultValuedAttr<ArrayAttr, "{}">:$phases, OptionalAttr<ArrayAttr>:$lengths,
                       OptionalAttr<ArrayAttr>:$outputs);
  let regions = (region SizedRegion<1>:$step, SizedRegion<1>:$eval, AnyRegion:$predict);
  let assemblyFormat = [{
    $sym_name `m` $m `devices` $devices `state` $state_bytes `bytes` `scratch` $scratch_bytes `bytes`
    attr-dict-with-keyword `step` $step `eval` $eval (`predict` $predict^)?
  }];
  let hasVerifier = 1;
}

def Device_BufferOp : Device_Op<"buffer", [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the address of a tensor: a byte offset in a space";
  let description = [{
    | space | `at` | lifetime |
    |---|---|---|
    | state | byte offset in the state; a multiple of 256 | across steps |
    | scratch | byte offset in the arena; a multiple of 64 | where the plan says so |
    | input | number of the input in the manifest | one micro-step: inside for_micro only |
    | rng | 0: seed, step and samples before the call, i64; 3: the rank, i64; 4: 0, 1, .. 63 | the step |
    | hyper | 0: accum_hyper::values | the step |
    | decay | number of a trained parameter: its pair in accum_hyper::decay | the step |

    In the state, what lies behind a tensor begins `skip` bytes behind a place. In scratch and inputs, a slice of samples begins `skip` bytes behind that place; inside for_slices, `step` bytes
    further with each round, one number for each of these loops, the outermost one's first. With a `pitch`, rows (of the
    last axis) begin that many elements behind each other, in scratch only; what is between them is nobody's. With `by_rank`,
    in the state, rank r has its place r times so many bytes further.
  }];
  let arguments = (ins Device_Space:$space, I64Attr:$offset, TypeAttrOf<Device_Tensor>:$contents, StrAttr:$label,
                       DefaultValuedAttr<I64Attr, "0">:$skip, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$step,
                       DefaultValuedAttr<I64Attr, "0">:$pitch, DefaultValuedAttr<I64Attr, "0">:$by_rank);
  let results = (outs Device_BufferLike:$result);
  let assemblyFormat = [{
    $space `at` $offset (`by_rank` $by_rank^)? (`skip` $skip^)? (`step` $step^)? (`pitch` $pitch^)? `:` $contents $label attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensor() { return ::llvm::cast<::mlir::RankedTensorType>(getContents()); }
    int64_t getNumElements() { return getTensor().getNumElements(); }
    /// Of the contents, row-major, with what is between rows; an i1 takes one byte.
    int64_t getBytes();
    /// Elements that fit there.
    int64_t getSpan();
  }];
  let hasVerifier = 1;
}

def Device_ForMicroOp : Device_Op<"for_micro", [NoTerminator, NoRegionArguments, SingleBlock]> {
  let summary = "for k in 0 .. K: begin_micro, the body, end_micro";
  let description = [{
    K is the program's run-time argument, `phase` a position in the program's `phases`. Of the loop that adds to gradients
    the last end_micro is left to `device.end_micro`, which stands after the update. With several lengths K is that
    length's, and the first and the last micro-step are those of all loops of the phase. `rest`: for k in 1 .. K, since
    the loop that adds to gradients has what the first micro-step would do.
  }];
  let arguments = (ins I64Attr:$phase, UnitAttr:$rest);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$phase (`rest` $rest^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// Of its phase.
    bool addsGradients();
    /// A position in the program's `lengths`; nothing where it has one length.
    std::optional<int64_t> length();
  }];
  let hasVerifier = 1;
}

def Device_FirstMicroOp : Device_Op<"first_micro", [NoTerminator, NoRegionArguments, SingleBlock,
                                                    ParentOneOf<["ForMicroOp"]>]> {
  let summary = "the body, in the first micro-step of the loop around it only";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Device_ForSlicesOp : Device_Op<"for_slices", [NoTerminator, NoRegionArguments, SingleBlock,
                                                  ParentOneOf<["ForMicroOp", "ForSlicesOp"]>]> {
  let summary = "the body for each of `count` slices of a micro-batch, or pieces of a sample";
  let description = [{
    Buffers inside begin a `step` further with each round. `name` is what a round is called, `title` says how much it is.
  }];
  let arguments = (ins I64Attr:$count, StrAttr:$name, StrAttr:$title);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count $name $title attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Device_EndMicroOp : Device_ProgramPart<"end_micro"> {
  let summary = "end_micro of the last micro-step of a phase, after the update";
  let arguments = (ins I64Attr:$phase);
  let assemblyFormat = "$phase attr-dict";
}

def Device_SectionOp : Device_ProgramPart<"section"> {
  let summary = "a heading for whoever reads the program";
  let arguments = (ins StrAttr:$title);
  let assemblyFormat = "$title attr-dict";
}

def Device_LaunchOp : Device_ProgramPart<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel: pointers to its operands, then to its results";
  let description = [{
    `device.launch 17 @ln_fwd[3](%x, %y)`: command 17 runs kernel 3 of the table, whose `accum.kernel` is 3. `update` is
    there where the kernel has accumulating results: its last argument is then the flag `1: write, 0: add`.
  }];
  let arguments = (ins I64Attr:$id, FlatSymbolRefAttr:$kernel, I64Attr:$index, Variadic<Device_BufferLike>:$args,
                       OptionalAttr<Device_Update>:$update);
  let assemblyFormat = "$id $kernel `` `[` $index `]` `` `(` $args `)` ($update^)? attr-dict";
  let hasVerifier = 1;
}

def Device_GemmOp : Device_ProgramPart<"gemm"> {
  let summary = "c (+)= a * b, or c = a * b + bias, by the library, for every point of the batch";
  let description = [{
    `sizes` are M, N, K; element strides are [row, column] of a and b (one of them is 1) and the row of c, whose column
    stride is 1; `bias` has N elements of c's type, which are added to every row; `batch` extents have one stride in each of a, b and c, 0 meaning the same matrix again.
  }];
  let arguments = (ins I64Attr:$id, FlatSymbolRefAttr:$kernel, Device_Update:$update, Device_BufferLike:$c,
                       Device_BufferLike:$a, Device_BufferLike:$b, Optional<Device_BufferLike>:$bias, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides, I64Attr:$c_row,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$batch, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$a_batch,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$b_batch, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$c_batch);
  let assemblyFormat = [{
    $id $kernel $update $c `=` $a `*` $b (`bias` $bias^)? `sizes` $sizes `strides` `a` $a_strides `b` $b_strides `c` $c_row
    (`batch` $batch^ `a` $a_batch `b` $b_batch `c` $c_batch)? attr-dict
  }];
  let hasVerifier = 1;
}

def Device_AttentionOp : Device_ProgramPart<"attention"> {
  let summary = "attention, or with `backward` its derivative, by the library";
  let description = [{
    The operands in this order: q, k, v, with `masked` the mask, then y and lse, which forward writes and backward reads;
    backward reads dy and writes dq, dk and dv behind them. `sizes` are batch, heads, groups (key heads), queries, keys,
    features of a key and of a value. Each operand starts `offsets` elements into its buffer and has four element
    `strides`: batch, head, row, column; columns of all but the mask and lse are neighbours. lse has no columns.
  }];
  let arguments = (ins I64Attr:$id, FlatSymbolRefAttr:$kernel, UnitAttr:$backward, Variadic<Device_BufferLike>:$args,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides,
                       F64Attr:$scale, UnitAttr:$causal, UnitAttr:$masked, Device_Hidden:$hidden);
  let assemblyFormat = [{
    $id $kernel (`backward` $backward^)? `(` $args `)` `sizes` $sizes `offsets` $offsets `strides` $strides
    `scale` $scale (`causal` $causal^)? (`masked` $masked^)? $hidden attr-dict
  }];
  let extraClassDeclaration = [{
    /// What operand i of `args` is called in accum_attention: "q", "mask", "dv".
    ::llvm::SmallVector<::llvm::StringRef> names();
    ::llvm::ArrayRef<int64_t> stridesOf(unsigned operand) { return getStrides().slice(4 * operand, 4); }
  }];
  let hasVerifier = 1;
}

def Device_CopyOp : Device_ProgramPart<"copy"> {
  let summary = "copies the bytes of one buffer to another of the same size";
  let arguments = (ins Device_BufferLike:$source, Device_BufferLike:$target);
  let assemblyFormat = "$source `to` $target attr-dict";
  let hasVerifier = 1;
}

def Device_ZeroOp : Device_ProgramPart<"zero"> {
  let summary = "sets the bytes of a buffer to zero, with `if_first` in the first micro-step only";
  let arguments = (ins Device_BufferLike:$target, UnitAttr:$if_first);
  let assemblyFormat = "$target (`if_first` $if_first^)? attr-dict";
  let hasVerifier = 1;
}

def Device_StartAllReduceOp : Device_ProgramPart<"start_all_reduce"> {
  let summary = "in the last micro-step: nothing contributes to these gradients any more, their sum may begin";
  let description = [{
    In the loop that adds to gradients. The `all_reduce` over all gradients behind it ends what was begun, and sums the rest.
  }];
  let arguments = (ins Device_BufferLike:$target);
  let assemblyFormat = "$target attr-dict";
  let hasVerifier = 1;
}

def Device_InspectGradientsOp : Device_ProgramPart<"inspect_gradients"> {
  let summary = "shows gradients, summed over all devices, to the runtime: their norm and finiteness, clipping";
  let description = [{
    Once or several times, the last one with `last`. With `part` every device shows another part of the gradients.
  }];
  let arguments = (ins Device_BufferLike:$gradients, UnitAttr:$part, UnitAttr:$last);
  let assemblyFormat = "$gradients (`part` $part^)? (`last` $last^)? attr-dict";
}

def Device_ReduceScatterOp : Device_ProgramPart<"reduce_scatter"> {
  let summary = "each device gets the sum of its part over all devices, in place; with `start` it may begin";
  let description = [{
    The other parts hold anything afterwards. `if_last`: in the last micro-step only.
  }];
  let arguments = (ins Device_BufferLike:$target, UnitAttr:$start, UnitAttr:$if_last);
  let assemblyFormat = "$target (`start` $start^)? (`if_last` $if_last^)? attr-dict";
}

def Device_AllGatherOp : Device_ProgramPart<"all_gather"> {
  let summary = "the parts of all devices, one behind the other; with `start` it may begin";
  let arguments = (ins Device_BufferLike:$source, Device_BufferLike:$target, UnitAttr:$start);
  let assemblyFormat = "$source `to` $target (`start` $start^)? attr-dict";
  let hasVerifier = 1;
}

def Device_FetchOp : Device_ProgramPart<"fetch"> {
  let summary = "brings offloaded state from an offset there to a buffer; with `start` it may begin";
  let arguments = (ins Device_BufferLike:$target, I64Attr:$offset, UnitAttr:$start);
  let assemblyFormat = "$target `from` $offset (`start` $start^)? attr-dict";
}

def Device_StoreOp : Device_ProgramPart<"store"> {
  let summary = "brings a buffer to offloaded state, to an offset there; with `start` it may begin";
  let arguments = (ins Device_BufferLike:$source, I64Attr:$offset, UnitAttr:$start);
  let assemblyFormat = "$source `to` $offset (`start` $start^)? attr-dict";
}

def Device_OutputOp : Device_ProgramPart<"output"> {
  let summary = "hands the rows of a micro-step to the run, as the program's output of this number";
  let arguments = (ins Device_BufferLike:$source, I64Attr:$number);
  let assemblyFormat = "$source `as` $number attr-dict";
}

def Device_AllReduceOp : Device_ProgramPart<"all_reduce"> {
  let summary = "sums a buffer over all devices, in place";
  let arguments = (ins Device_BufferLike:$target);
  let assemblyFormat = "$target attr-dict";
  let hasVerifier = 1;
}

#endif
