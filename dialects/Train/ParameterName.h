// SPDX-License-Identifier: Apache-2.0
// What the file calls a parameter, where a function of the program has that symbol.
#pragma once
#include "dialects/Train/TrainDialect.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::train {

/// On train.param: the ONNX initializer's name, where the symbol is another.
inline constexpr const char *kOnnxName = "train.onnx_name";

/// The symbol of an initializer of that name: its own, but for those that the step and its functions have.
inline std::string symbolFor(llvm::StringRef initializer) {
  constexpr llvm::StringLiteral kTaken[] = {"forward", "step", "eval", "predict", "whole", "program"};
  bool isTaken = llvm::is_contained(kTaken, initializer);
  return isTaken ? "initializer." + initializer.str() : initializer.str();
}

inline llvm::StringRef onnxName(ParamOp param) {
  auto name = param->getAttrOfType<mlir::StringAttr>(kOnnxName);
  return name ? name.getValue() : param.getSymName();
}

} // namespace accum::train
