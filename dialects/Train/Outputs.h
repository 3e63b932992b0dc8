// SPDX-License-Identifier: Apache-2.0
// Outputs of the model that a run predicts.
#pragma once
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace accum::train {

/// Up to check, a function of its own that returns them; from differentiate on a step of the same name.
inline constexpr llvm::StringLiteral kPredictFunction = "predict";
/// On that function: the names of its results.
inline constexpr llvm::StringLiteral kOutputNames = "train.outputs";
/// On @forward: the names of its results alongside the loss, scalars that the loss is computed from.
inline constexpr llvm::StringLiteral kScalarNames = "train.scalars";
/// What such a scalar is called in the state, before its name.
inline constexpr llvm::StringLiteral kScalarPrefix = "output:";
/// On the module: outputs that no run can predict, a dictionary each: `name`, and `why` as a sentence goes on
/// after that.
inline constexpr llvm::StringLiteral kOutputsLeftOut = "accum.outputs_left_out";

/// Adds to that list.
inline void leaveOutput(mlir::ModuleOp module, llvm::StringRef name, llvm::StringRef why) {
  mlir::Builder builder(module.getContext());
  llvm::SmallVector<mlir::Attribute> all;
  if (auto known = module->getAttrOfType<mlir::ArrayAttr>(kOutputsLeftOut))
    all.append(known.begin(), known.end());
  all.push_back(builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(name)),
                                           builder.getNamedAttr("why", builder.getStringAttr(why))}));
  module->setAttr(kOutputsLeftOut, builder.getArrayAttr(all));
}

/// What a step hands out, in order; the position of one of them.
inline llvm::SmallVector<OutputOp> outputsOf(StepOp step) {
  llvm::SmallVector<OutputOp> outputs;
  step.walk([&](OutputOp output) { outputs.push_back(output); });
  return outputs;
}

inline int64_t outputNumber(StepOp step, llvm::StringRef name) {
  int64_t number = 0;
  for (OutputOp output : outputsOf(step)) {
    if (output.getName() == name)
      break;
    ++number;
  }
  return number;
}

} // namespace accum::train
