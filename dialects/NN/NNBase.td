// SPDX-License-Identifier: Apache-2.0
// The nn dialect: transformer maths on values, its placements, and what all its ops share.
#ifndef ACCUM_NN_BASE
#define ACCUM_NN_BASE

include "dialects/NN/Placement.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::accum::nn";
  let summary = "transformer maths on values";
  let description = [{
    Every value is a ranked tensor with static sizes: its *slab*, the shape of one sample. The tensor's encoding says how
    the whole value relates to the batch:

    | encoding | from .. to | meaning |
    |---|---|---|
    | `#nn.extent<d>` | import .. check | axis d has N times the slab's extent (N: the batch size) |
    | `#nn.batched<d, outer = o>` | check .. plan | axis d of the whole value is o x N x (slab extent / o) |
    | `#nn.replicated` | check .. plan | the same for every sample |
    | `#nn.partial<sum>` | check .. plan | a term of a sum over the samples |
    | `#nn.whole` | check .. plan | of the whole batch, whose size is in the shape: no accumulation, one device |
    | none | import; after schedule | no batch axis; after `schedule` plain static tensors |
  }];
  let useDefaultAttributePrinterParser = 1;
}

class NN_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<NN_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def NN_ExtentAttr : NN_Attr<"Extent", "extent", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "axes whose extent is a multiple of the batch size";
  let description = "`#nn.extent<0>`; two batch axes, `#nn.extent<0, 1>`, are legal here and refused by check.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$dims);
  let assemblyFormat = "`<` $dims `>`";
}

def NN_BatchedAttr : NN_Attr<"Batched", "batched", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "placement: axis `dim` is outer x N x rows";
  let parameters = (ins "int64_t":$dim, DefaultValuedParameter<"int64_t", "1">:$outer);
  let assemblyFormat = "`<` $dim (`,` `outer` `=` $outer^)? `>`";
}

def NN_ReplicatedAttr : NN_Attr<"Replicated", "replicated"> {
  let summary = "placement: the same for every sample";
}

def NN_PartialAttr : NN_Attr<"Partial", "partial"> {
  let summary = "placement: a term of a sum over the samples";
  let assemblyFormat = "`<` `sum` `>`";
}

def NN_WholeAttr : NN_Attr<"Whole", "whole"> {
  let summary = "placement: made from the whole batch at once, which is the only micro-step of the only device";
}

def NN_Tensor : StaticShapeTensorOf<[AnyInteger, AnyFloat]>;

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;

class NN_PureOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<NN_PlacementOpInterface>], traits)>;

#endif
