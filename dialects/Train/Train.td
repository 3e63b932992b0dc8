// SPDX-License-Identifier: Apache-2.0
// The train dialect: the structure of an optimizer step. Dialect and attributes.
#ifndef ACCUM_TRAIN
#define ACCUM_TRAIN

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::accum::train";
  let summary = "parameters, steps, commands and plans";
  let useDefaultAttributePrinterParser = 1;
  let description = [{
    A compiled module holds `train.param`s, one `func.func @forward` up to `check`, then `train.step @step` and
    `train.step @eval`. Weights are never in IR: a parameter names its bytes in a file.
  }];
}

class Train_Attr<string name, string attrMnemonic> : AttrDef<Train_Dialect, name> { let mnemonic = attrMnemonic; }

def Train_FileAttr : Train_Attr<"File", "file"> {
  let summary = "where a parameter's bytes are: path, byte offset, byte count, xxh3 of the bytes (0: not known)";
  let parameters = (ins StringRefParameter<>:$path, "int64_t":$offset, "int64_t":$bytes, "uint64_t":$hash);
  let assemblyFormat = "`<` $path `,` $offset `,` $bytes `,` $hash `>`";
}

def Train_AliasAttr : Train_Attr<"Alias", "alias"> {
  let summary = "another initializer of the model file with the same values, possibly transposed";
  let parameters = (ins StringRefParameter<>:$name, OptionalParameter<"bool">:$transposed);
  let assemblyFormat = "`<` $name (`,` `transposed` `=` $transposed^)? `>`";
}

def Train_PolyAttr : Train_Attr<"Poly", "poly"> {
  let summary = "a + b * m, in the micro-batch size m";
  let parameters = (ins "int64_t":$constant, "int64_t":$slope);
  let assemblyFormat = "`<` $constant `,` $slope `>`";
}

def Train_TailAttr : Train_Attr<"Tail", "tail"> {
  let summary = "a command in two: the head, and a tail that computes result `result` from the head's results";
  let description = [{
    Together they are the command's kernel; where a plan recomputes one of them only, that one runs alone. `id` is the
    tail's as a command; `operands` and `head_operands` are operands of the command, or `~i` for its result i. Costs are
    the tail's alone.
  }];
  let parameters = (ins "int64_t":$id, "int64_t":$result, "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::FlatSymbolRefAttr":$head,
                        "::mlir::DenseI64ArrayAttr":$operands, "::mlir::DenseI64ArrayAttr":$head_operands,
                        "::accum::train::PolyAttr":$flops, "::accum::train::PolyAttr":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Train_SliceAttr : Train_Attr<"Slice", "slice"> {
  let summary = "a command that runs in slices of `samples`, or in pieces of one: `part` of its `rows` rows";
  let description = [{
    `strides` has for each operand, then each result, the bytes of a sample, by which a slice begins further behind; 0 where
    all slices see the same. `rest` is the kernel of the last slice or piece, where that one is shorter.
  }];
  let parameters = (ins "int64_t":$samples, "int64_t":$part, "int64_t":$rows, "::mlir::DenseI64ArrayAttr":$strides,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$rest);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Train_PlanAttr : Train_Attr<"Plan", "plan"> {
  let summary = "the chosen plan, on the module; mirrors plan.json";
  let description = [{
    `slots` maps "id:result" of a command to its byte offset in scratch; `inputs` (m samples of each) and values that
    are views need none. `recompute` lists the commands of the main loop that run a second time, in order, and `before` the
    command that each of them then stands right before, the first of the backward part that needs it; `variant` maps a command's id to the variant that it runs as, where it is not the default.
    `shard`, where the state is sharded or offloaded: `mode` ("none", "zero1", "zero2", "zero3"), `each` where gradients
    are summed in each micro-step, `offload` ("optimizer", "parameters"), `units` (how many parameters are cut
    together, in order: trained ones, and behind them frozen ones with zero3), `pieces` (of a device's part of each), `gathered` and `scattered`: bytes for units that are whole for a while, `staged`: for offloaded
    state on its way, `copied`: so many units, the first ones, have copies in half the bytes, of which a device's parts
    take `copies` bytes.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$devices, "int64_t":$state, "int64_t":$scratch, "int64_t":$align,
                        OptionalParameter<"::mlir::DictionaryAttr">:$variant,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$recompute,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$before,
                        OptionalParameter<"::mlir::DictionaryAttr">:$shard,
                        "::mlir::DictionaryAttr":$slots);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
