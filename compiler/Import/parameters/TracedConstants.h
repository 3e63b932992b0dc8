// SPDX-License-Identifier: Apache-2.0
// Constants that the TorchScript exporter computed from parameters.
#pragma once
#include "compiler/Import/model/Readers.h"

namespace accum::import {

/// What that exporter computed it calls after the first reader, `onnx::Mul_18`, while parameters keep their
/// names: the slice of a table, a weight norm, exp(w). So does it call transposed weights, which stay what
/// they are, and the gain `1 + w` of a norm, whose gradient is that of w; these two are no such constants.
bool isComputedByTrace(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers);

/// A vector that multiplies what a norm gives: there `1 + w` is usual, whose gradient is that of w.
bool isGainOfNorm(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers);

/// Its readers compute with what the user gives and no parameter: a mean and a deviation that inputs are
/// normalised by, as a rule.
bool isAppliedToInputs(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers);

/// A traced export writes plain numbers as Constant nodes. What it holds by a name is a parameter or a
/// buffer.
bool isNamedByTrace(const Graph &graph, const std::string &name, const std::vector<Reader> &readers);

} // namespace accum::import
