// SPDX-License-Identifier: Apache-2.0
// Random numbers of a forward graph: which of them are dropout written out.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>

namespace accum::import {

/// Stochastic depth, feature dropout and the like are written as zeros and ones drawn from uniform numbers,
/// divided by the probability of a one. They become nn.random <mask>, which evaluation takes for 1, as it
/// leaves out nn.dropout.
void recogniseMasks(mlir::func::FuncOp forward);

/// Told: what is drawn in evaluation too, since the file does not say that it belongs to training.
std::optional<std::string> noteDraws(mlir::func::FuncOp forward);

} // namespace accum::import
