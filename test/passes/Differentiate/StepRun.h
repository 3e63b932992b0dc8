// SPDX-License-Identifier: Apache-2.0
// Interprets a differentiated step in f64, cut into micro-batches.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "test/dialects/NN/Evaluator.h"

namespace accum::test {

/// What a step is run on: the whole batch, samples leading, and the parameters by symbol.
struct StepData {
  int64_t samples = 0;
  std::map<std::string, Array> inputs, parameters;
};

/// Values that left the micro-steps, added up by target: "loss", or a parameter's symbol.
using Sums = std::map<std::string, Array>;

/// `train.step @step` of the module in micro-batches of `m`; spare rows of the last one repeat the last
/// sample.
Sums runStep(mlir::ModuleOp module, const StepData &data, int64_t m);

double largest(const Array &array);
/// Largest difference over the largest magnitude.
double relativeError(const Array &array, const Array &expected);

} // namespace accum::test
