// SPDX-License-Identifier: Apache-2.0
// A committed export with PyTorch's values beside it, brought through import and check.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/dialects/NN/Evaluator.h"
#include <filesystem>
#include <nlohmann/json.hpp>

namespace accum::test {

/// Names of the exports under test/models that have reference values, can be cut, and that import and the
/// interpreter know whole.
std::vector<std::string> exportsWithReference();

/// A name that GoogleTest accepts.
std::string testName(std::string exportName);

class ExportedModel {
public:
  /// Imports, recognises and checks; `problem` says what went wrong, "" for nothing.
  explicit ExportedModel(const std::string &name);

  /// An array of the committed samples (samples leading), or of the reference values: `loss`, `grad/NAME`.
  Array sample(const std::string &input) const;
  Array reference(const std::string &value) const;
  /// The parameters' values, read from the model file.
  std::map<std::string, Array> parameters() const;
  /// The reference gradient of an initializer in the file's own layout: transposed, cut to rows, or as it is.
  Array gradientOf(const std::string &initializer) const;

  int64_t samples = 0;
  std::string problem;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  std::string name;
  nlohmann::json description;
};

} // namespace accum::test
