// SPDX-License-Identifier: Apache-2.0
// Initializers as values: known content, or train.param and a load.
#pragma once
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/walk/GraphValue.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace accum::import {

class ParameterOps {
public:
  ParameterOps(const Model &model, const ParameterTable &table, mlir::ModuleOp module, Emitter &emit)
      : model(model), table(table), module(module), emit(emit) {}

  /// Integers and small float constants are content, the others are loaded at the current node. Refuses
  /// element types that are not computed with, and integers whose file is missing.
  GraphValue valueOf(const Tensor &tensor);

private:
  void declare(const Parameter &parameter);
  mlir::Value load(const Parameter &parameter, const Tensor &tensor);
  mlir::Value withLowestOfF32(mlir::Value mask);
  Parameter tableOf(const Tensor &tensor) const;

  const Model &model;
  const ParameterTable &table;
  mlir::ModuleOp module;
  Emitter &emit;
  std::set<std::string> declared;
};

} // namespace accum::import
