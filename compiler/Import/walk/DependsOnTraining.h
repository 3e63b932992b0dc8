// SPDX-License-Identifier: Apache-2.0
// Whether a gradient goes through a value.
#pragma once
#include "mlir/IR/Value.h"

namespace accum::import {

/// A gradient of the value goes back to a trained parameter, as far as types and detaches tell.
bool dependsOnTraining(mlir::Value value);

} // namespace accum::import
