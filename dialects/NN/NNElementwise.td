// SPDX-License-Identifier: Apache-2.0
// Constants and elementwise maths.
#ifndef ACCUM_NN_ELEMENTWISE
#define ACCUM_NN_ELEMENTWISE

include "dialects/NN/NNBase.td"

class NN_Fn<string mnemonic, int value> : I32EnumAttrCase<mnemonic, value>;

def NN_ElementwiseFn : I32EnumAttr<"ElementwiseFn", "what an elementwise op computes", [
    // unary, 0 ..
    NN_Fn<"neg", 0>, NN_Fn<"abs", 1>, NN_Fn<"sign", 2>, NN_Fn<"exp", 3>, NN_Fn<"log", 4>, NN_Fn<"sqrt", 5>,
    NN_Fn<"rsqrt", 6>, NN_Fn<"reciprocal", 7>, NN_Fn<"tanh", 8>, NN_Fn<"erf", 9>, NN_Fn<"sigmoid", 10>,
    NN_Fn<"relu", 11>, NN_Fn<"gelu", 12>, NN_Fn<"gelu_tanh", 13>, NN_Fn<"silu", 14>, NN_Fn<"sin", 15>,
    NN_Fn<"cos", 16>, NN_Fn<"floor", 17>, NN_Fn<"ceil", 18>, NN_Fn<"round", 19>, NN_Fn<"logical_not", 20>,
    NN_Fn<"is_nan", 21>, NN_Fn<"is_inf", 22>, NN_Fn<"softplus", 23>, NN_Fn<"gelu_grad", 24>,
    NN_Fn<"gelu_tanh_grad", 25>, NN_Fn<"silu_grad", 26>, NN_Fn<"log1p", 27>, NN_Fn<"expm1", 28>,
    NN_Fn<"erfc", 29>, NN_Fn<"erfcx", 30>, NN_Fn<"erfcx_grad", 31>, NN_Fn<"log_erfc", 32>, NN_Fn<"asin", 33>,
    NN_Fn<"acos", 34>, NN_Fn<"atan", 35>,
    // binary, 100 ..
    NN_Fn<"add", 100>, NN_Fn<"sub", 101>, NN_Fn<"mul", 102>, NN_Fn<"div", 103>, NN_Fn<"pow", 104>,
    NN_Fn<"min", 105>, NN_Fn<"max", 106>, NN_Fn<"mod", 107>, NN_Fn<"rem", 108>, NN_Fn<"logical_and", 109>,
    NN_Fn<"logical_or", 110>, NN_Fn<"logical_xor", 111>, NN_Fn<"eq", 112>, NN_Fn<"ne", 113>, NN_Fn<"lt", 114>,
    NN_Fn<"le", 115>, NN_Fn<"gt", 116>, NN_Fn<"ge", 117>, NN_Fn<"binary_cross_entropy", 118>,
    NN_Fn<"sigmoid_cross_entropy", 119>, NN_Fn<"atan2", 120>,
    // ternary, 200 ..
    NN_Fn<"select", 200>]> {
  let cppNamespace = "::accum::nn";
  let genSpecializedAttr = 0;
}
def NN_ElementwiseFnAttr : EnumAttr<NN_Dialect, NN_ElementwiseFn, "fn"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_ConstantOp : NN_PureOp<"constant", [ConstantLike]> {
  let summary = "a value known at compile time";
  let description = "Splats and small tables inline, larger ones as a dense resource. Never a weight.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_IotaOp : NN_PureOp<"iota"> {
  let summary = "the index along one axis (never the batch axis)";
  let arguments = (ins I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_ElementwiseOp : NN_PureOp<"elementwise", [InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "one scalar function over right-aligned, broadcast operands";
  let description = [{
    `nn.elementwise <add> (%a, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>`. Operands have one element
    type (the condition of `select` is i1); comparisons, `is_nan`, `is_inf` and the logical functions give i1. `mod`
    has the sign of the divisor, `rem` of the dividend; integer `div` truncates toward zero. `round` goes to even.
    `*_grad` are the derivatives of functions at x. `erfcx` is
    exp(x^2) * erfc(x), `log_erfc` the logarithm of erfc. `atan2` is the angle of the point (second, first operand), and
    has no derivative at the origin, where zero is given. `binary_cross_entropy` takes a probability and a target,
    `sigmoid_cross_entropy` the probability's logit: both are `torch.nn.functional.binary_cross_entropy`, whose logarithms
    end at -100 and whose derivative fades where the probability is within 1e-12 of 0 or 1.
  }];
  let arguments = (ins NN_ElementwiseFnAttr:$fn, Variadic<NN_Tensor>:$operands);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$fn ` ` `(` $operands `)` attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}

def NN_CastOp : NN_PureOp<"cast"> {
  let summary = "change of element type; float to integer truncates, number to i1 is != 0";
  let arguments = (ins NN_Tensor:$input);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType)>];
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif
